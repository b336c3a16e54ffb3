/** Stores that lose acknowledged writes. */
import { test } from 'node:test'
import { startPostgres } from '../../launch/postgres.ts'
import { roundsOf } from '../campaign.ts'
import type { StartDatabase } from '../databases.ts'
import { restoredDump } from '../forgetting-database.ts'
import { olderCopyAtStart } from '../restore-copy.ts'

test('nodes notice an older dump that is restored under them, and repeat nothing', (t) =>
  restoredDump(t, 'PostgreSQL', startPostgres as StartDatabase, roundsOf(1, 0.05)))

test('a server notices an older copy of its file at the start, and repeats nothing', (t) =>
  olderCopyAtStart(t, roundsOf(1, 0.1)))
