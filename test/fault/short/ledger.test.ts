/** A ledger on SQLite whose node is killed. */
import { test } from 'node:test'
import { killedLedgerNode } from '../ledger.ts'

test('a ledger accounts for each number once, also if its node is killed', (t) => killedLedgerNode(t, 1, 400))
