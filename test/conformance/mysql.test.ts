/** On a mariadbd of its own; or on a server that is there, with `npm run test:mysql -- URL`. */
import { after } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { openEngine } from '../../src/engine/open.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { describeEngine } from './describeEngine.ts'
import { databaseStores, type StoreUnderTest } from './store-under-test.ts'

const given = process.env.FAHAO_TEST_MYSQL_URL
if (given !== undefined) console.log(`The server calls itself ${await versionOf(given)}.`)
describeEngine(
  given === undefined
    ? databaseStores(await startMariaDb({ after }), openEngine)
    : {
        name: 'mysql',
        store: (lifetime) => databaseOn(given, lifetime),
        durable: true,
        shared: true,
        owned: 'a shared engine has no owner',
        freezes: true,
      },
)

/** What a server says of itself: `11.8.3-MariaDB`, `8.0.11-TiDB-v8.5.6`. */
async function versionOf(serverUrl: string): Promise<string> {
  const admin = await createConnection(serverUrl)
  const [rows] = await admin.query('SELECT VERSION() AS version')
  await admin.end()
  return String((rows as { version: unknown }[])[0]!.version)
}

/** A new database on a server that the tests do not freeze: another session locks the tables instead. */
async function databaseOn(serverUrl: string, lifetime: Lifetime): Promise<StoreUnderTest> {
  const database = `fahao_test_${process.pid}_${Math.floor(Math.random() * 2 ** 40)}`
  const admin = await createConnection({ uri: serverUrl, multipleStatements: true })
  await admin.query(`CREATE DATABASE ${database}`)
  atEnd(lifetime, async () => {
    await admin.query(`DROP DATABASE ${database}`)
    await admin.end()
  })
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return {
    url: url.href,
    open: (options) => openEngine(url.href, options),
    async freeze() {
      const tables = ['fahao_counters', 'fahao_records', 'fahao_about'].map((name) => `${name} WRITE`)
      await admin.query(`USE ${database}; LOCK TABLES ${tables.join(', ')}`)
      return async () => {
        await admin.query('UNLOCK TABLES')
      }
    },
  }
}
