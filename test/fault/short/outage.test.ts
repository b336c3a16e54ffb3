/** A database that goes away. */
import { test } from 'node:test'
import { startMariaDb } from '../../launch/mariadb.ts'
import { secondsOf } from '../campaign.ts'
import type { StartDatabase } from '../databases.ts'
import { outage, outagesOf } from '../outage-database.ts'

test('a node whose MariaDB is killed goes on with segments and snowflakes, and recovers by itself', (t) =>
  outagesOf(t, 'MariaDB', startMariaDb as StartDatabase, [outage.killed(secondsOf(1, 10))], secondsOf(2, 60)))
