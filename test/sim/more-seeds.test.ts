/** What nodes.test.ts and leaders.test.ts try, over as many seeds again. */
import { testLeaders, testNodes } from './suite.ts'

testNodes(1)
testLeaders(1)
