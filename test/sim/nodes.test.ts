/** Whole nodes, and all that generators go through, over many seeds; see suite.ts. */
import { testScenario } from './suite.ts'

testScenario('cluster', 'clusters of nodes repeat nothing and keep order while all is altered', 24)
testScenario('fleet', 'fleets of nodes repeat nothing and keep order while all is altered', 30)
testScenario('single', 'one node after the other repeats nothing and keeps order', 30)
testScenario('paused', 'clusters on machines that are paused repeat nothing', 16)
testScenario('forgetting', 'nodes on a store that forgets repeat nothing and come back', 24)
testScenario('clients', 'processes with fahao-client repeat nothing above a cluster', 12)
testScenario('clients-fleet', 'processes with fahao-client repeat nothing where clocks are wrong by far', 16)
testScenario('takeovers', 'clusters on a store that forgets who leads keep order and come back', 12)
