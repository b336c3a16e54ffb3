/** Who may issue, over some seeds; see suite.ts. more-seeds.test.ts has those after them. */
import { testLeaders } from './suite.ts'

testLeaders(0)
