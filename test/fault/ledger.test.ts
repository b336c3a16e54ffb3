/** The ledger of a cluster whose leaders, nodes and database are killed; short/ledger.test.ts has a node on SQLite. */
import { test } from 'node:test'
import { roundsOf } from './campaign.ts'
import { killedLedgerCluster, killedLedgerNode } from './ledger.ts'

const isLong = process.env.FAULT_ROUNDS !== undefined
const timeout = 1_800_000

test(
  'a ledger accounts for each number once, whichever nodes, leaders and databases are killed',
  { timeout },
  (t) => killedLedgerCluster(t, roundsOf(1, 0.02), isLong ? 50_000 : 1000),
)

test('a ledger on SQLite accounts for each number once, however often its node is killed', { timeout }, (t) =>
  killedLedgerNode(t, roundsOf(2, 0.05), isLong ? 50_000 : 1000),
)
