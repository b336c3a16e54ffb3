/** Servers to attack, and how clients that mean no harm reach them. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { password as databasePassword, owner } from '../launch/database.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { guardTables, upstreamOf } from '../launch/guards.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { freePort } from '../launch/places.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type Attack, basic, password } from './attack.ts'

/** A client on a connection that is open. `draw`: an id, higher than the one before. */
export type DoorClient = { draw(): Promise<unknown>; close(): Promise<void> }

/** How clients that mean no harm reach the server. */
export type Doors = {
  connect(): Promise<RawClient>
  readonly http: number
  readonly headers: Readonly<Record<string, string>>
  /** The attacked door, if it is another one. */
  readonly openDoor: (() => Promise<DoorClient>) | undefined
}

/** A server under attack. */
export type Victim = {
  readonly server: FahaoServer
  /** The port of the attacked door. */
  readonly port: number
  readonly doors: Doors
}

const generators = ['target', 'others-resp', 'others-http', 'others-connect', 'others-door']
const database = 'shop'
const accounts = `
  CREATE DATABASE ${database};
  CREATE TABLE ${database}.target (id BIGINT PRIMARY KEY, body LONGTEXT);
  CREATE TABLE ${database}.others (id BIGINT PRIMARY KEY, body LONGTEXT);
  GRANT ALL PRIVILEGES ON ${database}.* TO ${owner}@'127.0.0.1';
  CREATE USER attacker@'%' IDENTIFIED BY '';
  GRANT ALL PRIVILEGES ON ${database}.* TO attacker@'%'`

/** The database behind proxies that are attacked; undefined: the attack is on another door. */
export async function startBackend(
  lifetime: Lifetime,
  transport: Attack['transport'],
): Promise<MariaDb | undefined> {
  if (transport !== 'mysql') return undefined
  const settings = { 'max-connections': 3000, 'innodb-flush-log-at-trx-commit': 0, 'sync-binlog': 0 }
  const backend = await startMariaDb(lifetime, { settings })
  await backend.admin(accounts)
  await guardTables(backend, [`${database}.target.id`, `${database}.others.id`])
  return backend
}

/** Starts a server with the users `admin` and `attacker`, and the generators of the campaign. */
export async function startVictim(
  lifetime: Lifetime,
  transport: Attack['transport'],
  backend: MariaDb | undefined,
): Promise<Victim> {
  const door = await freePort()
  const server = await startFahao(lifetime, { args: argsFor(transport, door, backend) })
  await prepare(server)
  const doors = doorsOf(server)
  const port = { resp: server.resp, http: doors.http, postgres: door, mysql: door }[transport]
  const openDoor = { resp: undefined, http: undefined, postgres: openPostgres, mysql: openMysql }[transport]
  return { server, port, doors: { ...doors, openDoor: openDoor && (() => openDoor(port)) } }
}

function argsFor(transport: Attack['transport'], door: number, backend: MariaDb | undefined): string[] {
  if (transport === 'postgres') return ['--postgres', `127.0.0.1:${door}`]
  if (backend === undefined) return []
  const tables = ['target=target', 'others=others-door'].flatMap((each) => [
    '--table',
    `${database}.${each.replace('=', '.id=')}`,
  ])
  const upstream = upstreamOf(backend)
  return [
    ...['--mysql-proxy', `127.0.0.1:${door}`, '--upstream', upstream, '--mysql-proxy-user', 'admin'],
    ...tables,
  ]
}

async function prepare(server: FahaoServer): Promise<void> {
  const client = await server.connect()
  for (const name of generators) await client.command('ID.CREATE', name, 'KIND', 'sequence')
  await addUser(client, 'admin')
  await client.close()
  // The first user ends the connections of clients that have not logged in.
  const admin = await doorsOf(server).connect()
  await addUser(admin, 'attacker')
  await admin.close()
}

async function addUser(client: RawClient, name: string): Promise<void> {
  const reply = await client.command('ACL', 'SETUSER', name, 'on', `>${password}`, '~*', '+@all')
  if (reply !== 'OK') throw new Error(`ACL SETUSER ${name}: ${String(reply)}`)
}

function doorsOf(server: FahaoServer): Omit<Doors, 'openDoor'> {
  const [name, value] = basic('admin').split(': ')
  return {
    async connect() {
      const client = await server.connect()
      await client.command('AUTH', 'admin', password)
      return client
    },
    http: Number(new URL(server.http).port),
    headers: { [name!]: value! },
  }
}

async function openPostgres(port: number): Promise<DoorClient> {
  const client = new Client({ host: '127.0.0.1', port, user: 'admin', password, database: 'ids' })
  // A request that is under way rejects as well.
  client.on('error', () => {})
  await client.connect()
  return {
    draw: async () => (await client.query("SELECT nextval('others-door')")).rows[0].nextval,
    close: () => client.end(),
  }
}

async function openMysql(port: number): Promise<DoorClient> {
  const client = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password: databasePassword,
    database,
  })
  client.on('error', () => {})
  return {
    async draw() {
      const [result] = await client.query("INSERT INTO others (body) VALUES ('x')")
      return 'insertId' in result ? result.insertId : undefined
    },
    close: () => client.end(),
  }
}
