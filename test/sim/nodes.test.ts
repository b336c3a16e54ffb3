/** Whole nodes, and all that generators go through, over many seeds; see suite.ts. */
import { testScenario } from './suite.ts'

testScenario('cluster', 'clusters of nodes repeat nothing and keep order while all is altered', 12)
testScenario('fleet', 'fleets of nodes repeat nothing and keep order while all is altered', 16)
testScenario('single', 'one node after the other repeats nothing and keeps order', 16)
testScenario('paused', 'clusters on machines that are paused repeat nothing', 10)
testScenario('forgetting', 'nodes on a store that forgets repeat nothing and come back', 12)
testScenario('clients', 'processes with fahao-client repeat nothing above a cluster', 8)
testScenario('clients-fleet', 'processes with fahao-client repeat nothing where clocks are wrong by far', 10)
testScenario('takeovers', 'clusters on a store that forgets who leads keep order and come back', 12)
