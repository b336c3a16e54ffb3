/** Whole nodes, and all that generators go through, over some seeds; see suite.ts. more-seeds.test.ts has those after them. */
import { testNodes } from './suite.ts'

testNodes(0)
