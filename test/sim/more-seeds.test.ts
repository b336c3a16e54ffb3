/** What nodes.test.ts tries, over as many seeds again. */
import { testNodes } from './suite.ts'

testNodes(1)
