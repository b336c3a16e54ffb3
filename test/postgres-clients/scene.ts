/** What clients are tried with: a PostgreSQL server, and a built server of this repository for each of them. */
import assert from 'node:assert/strict'
import { Client as PgClient } from 'pg'
import type { CertificateFiles } from '../launch/certificates.ts'
import { startFahao } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import { type Postgres, startPostgres } from '../launch/postgres.ts'
import { type Client, failed, type Place, sequences } from './client.ts'

/** A line of a client, from both servers. Undefined: the client did not print it there. */
export type Outcome = {
  readonly step: string
  readonly postgres: string | undefined
  readonly fahao: string | undefined
}

/** The servers, for one client after another. */
export type Scene = {
  /**
   * Runs a client on both, each time with fresh sequences. Rejects when it fails on PostgreSQL.
   */
  compare(client: Client): Promise<readonly Outcome[]>
}

const database = 'shop'
const user = 'fahao'
const password = 'secret'

/** Starts PostgreSQL. With certificates: the server of this repository has users, and speaks TLS with them. */
export async function startScene(lifetime: Lifetime, tls?: CertificateFiles): Promise<Scene> {
  const postgres = await startPostgres(lifetime)
  return {
    async compare(client) {
      const expected = await client.run({ url: await freshDatabase(postgres), isTls: false })
      assert.deepEqual(
        expected.filter((line) => stepOf(line) === failed),
        [],
        `${client.name} fails on PostgreSQL too`,
      )
      return outcomes(expected, await linesOfFahao(client, tls))
    },
  }
}

async function freshDatabase(postgres: Postgres): Promise<string> {
  await postgres.admin(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
  await postgres.admin(`CREATE DATABASE ${database} OWNER ${user}`)
  const url = postgres.url(database)
  await createSequences({ url, isTls: false })
  return url
}

async function linesOfFahao(client: Client, tls: CertificateFiles | undefined): Promise<readonly string[]> {
  const scope = new Scope()
  try {
    const place = await startDoor(scope, tls)
    await createSequences(place)
    return await client.run(place)
  } finally {
    await scope.end()
  }
}

async function startDoor(lifetime: Lifetime, tls: CertificateFiles | undefined): Promise<Place> {
  const port = await freePort()
  const args = ['--postgres', `127.0.0.1:${port}`]
  const server = await startFahao(lifetime, { engine: 'memory:', args, ...(tls && { tls }) })
  if (tls) {
    const admin = await server.connect()
    await admin.command('ACL', 'SETUSER', user, 'on', `>${password}`, '~*', '+@all')
  }
  return { url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`, isTls: tls !== undefined }
}

async function createSequences({ url, isTls }: Place): Promise<void> {
  const client = new PgClient({ connectionString: url, ...(isTls && { ssl: { rejectUnauthorized: false } }) })
  await client.connect()
  for (const each of sequences) await client.query(`CREATE SEQUENCE ${each}`)
  await client.end()
}

function outcomes(expected: readonly string[], given: readonly string[]): Outcome[] {
  const names = [...new Set([...expected, ...given].map(stepOf))]
  return names.map((step) => ({ step, postgres: valueIn(expected, step), fahao: valueIn(given, step) }))
}

function stepOf(line: string): string {
  return line.split('\t', 1)[0]!
}

function valueIn(lines: readonly string[], step: string): string | undefined {
  const own = lines.filter((line) => stepOf(line) === step).map((line) => line.slice(step.length + 1))
  return own.length === 0 ? undefined : own.join('\n')
}
