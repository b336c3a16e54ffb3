/** The MySQL proxy beside a database with AUTO_INCREMENT: statements, and dumps. */
import { after, before, describe } from 'node:test'
import { Scope } from '../../launch/lifetime.ts'
import { corpusSuite } from './differential/corpus-suite.ts'
import { dumpColumns, dumpSuite } from './differential/dump-suite.ts'
import { fuzzSuite } from './differential/fuzz-suite.ts'
import { type Stage, startStage } from './differential/stage.ts'

describe('the MySQL proxy, beside a database with AUTO_INCREMENT', () => {
  const scope = new Scope()
  let running: Stage
  before(async () => {
    running = await startStage(scope, dumpColumns)
  })
  after(() => scope.end())

  const stage = () => running
  corpusSuite(stage)
  dumpSuite(stage)
  fuzzSuite()
})
