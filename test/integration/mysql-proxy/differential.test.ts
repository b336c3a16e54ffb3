/** The MySQL proxy beside a database with AUTO_INCREMENT: statements, dumps, and what users of ShardingSphere asked for. */
import { after, before, describe } from 'node:test'
import { Scope } from '../../launch/lifetime.ts'
import { corpusSuite } from './differential/corpus-suite.ts'
import { dumpColumns, dumpSuite } from './differential/dump-suite.ts'
import { fuzzSuite } from './differential/fuzz-suite.ts'
import { shardingSphereColumns, shardingSphereSuite } from './differential/shardingsphere-suite.ts'
import { type Stage, startStage } from './differential/stage.ts'

describe('the MySQL proxy, beside a database with AUTO_INCREMENT', () => {
  const scope = new Scope()
  let running: Stage
  before(async () => {
    running = await startStage(scope, [...dumpColumns, ...shardingSphereColumns])
  })
  after(() => scope.end())

  const stage = () => running
  corpusSuite(stage)
  dumpSuite(stage)
  shardingSphereSuite(stage)
  fuzzSuite()
})
