/** Who may issue, over many seeds; see suite.ts. */
import { testScenario } from './suite.ts'

testScenario('leaders', 'clusters of the least that leads keep order and come back', 40)
testScenario('servers', 'clusters of what servers run keep order and come back', 24)
testScenario('families', 'clusters with a family keep each name in order and come back', 24)
