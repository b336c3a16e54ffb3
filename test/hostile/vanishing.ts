/**
 * Clients whose machine loses its network: `node test/hostile/vanishing.ts PLAN`, a JSON. They connect, send what their kind
 * sends, print `ready`, and wait. At SIGUSR2 they send the rest. A MySQL server is on the same machine.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeCommand } from '../launch/raw-client.ts'
import { packetOf } from '../launch/raw-mysql.ts'
import { basic, password } from './attack.ts'
import { mysqlLogin, query as mysqlQuery, response } from './mysql-attacks.ts'
import { postgresLogin, query as postgresQuery, startup } from './postgres-messages.ts'
import { listenAsUpstream, ping, unfinishedResult } from './vanishing-upstream.ts'

/** What clients of a kind have done when their network is lost. */
export type Kind = {
  readonly title: string
  /** `upstream`: a MySQL proxy of which the server vanishes, and not the clients. */
  readonly transport: 'resp' | 'http' | 'postgres' | 'mysql' | 'upstream'
  /** Logs in first. Requests of HTTP do so by themselves. */
  readonly login: boolean
  /** Connects when the network has been lost. */
  readonly isLate?: true
  readonly sends: string | Buffer
  /** Sent when replies no longer reach the client. */
  readonly sendsLast: string | Buffer
  readonly reads: boolean
  /** Within how many seconds the server must have closed the connections. */
  readonly withinS: number
}

/** Where the servers listen. */
export type Target = { readonly host: string; readonly ports: Readonly<Record<Kind['transport'], number>> }

/** The servers, the number of clients of each kind, and the address of each kind. */
export type Plan = Target & {
  readonly clients: number
  readonly addresses: Readonly<Record<string, string>>
  /** Where a MySQL server listens in the lost network. */
  readonly upstream: { readonly host: string; readonly port: number }
}

const settleMs = 1000
const resp = { transport: 'resp', login: true, sends: '', sendsLast: '', reads: true } as const
const http = { transport: 'http', login: false, sends: '', sendsLast: '', reads: true } as const
const postgres = { transport: 'postgres', login: true, sends: '', sendsLast: '', reads: true } as const
const mysql = { transport: 'mysql', login: true, sends: '', sendsLast: '', reads: true } as const
const upstream = { ...mysql, transport: 'upstream' } as const
const batches = encodeCommand(['ID.NEXT', 'target', 'COUNT', '100000'])
const long = encodeCommand(['MGET', ...Array.from({ length: 10 }, () => 'x'.repeat(60_000))])

/** Every kind by its name. The times are those of the defaults, and of the kernel where no setting of Fahao applies. */
export const kinds: Readonly<Record<string, Kind>> = {
  'resp-silent': { ...resp, login: false, title: 'before AUTH, nothing sent', withinS: 8 },
  'resp-part': {
    ...resp,
    login: false,
    title: 'before AUTH, in the middle of a request',
    sends: '*2\r\n$4\r\nAUTH\r\n$9\r\n',
    withinS: 8,
  },
  'resp-idle': { ...resp, title: 'logged in and idle', withinS: 75 },
  'resp-long': {
    ...resp,
    title: 'in the middle of a long request',
    sends: long.subarray(0, -1),
    withinS: 75,
  },
  'resp-unread': {
    ...resp,
    title: 'with many replies unread',
    sends: Buffer.concat(Array.from({ length: 20 }, () => batches)),
    reads: false,
    withinS: 35,
  },
  'resp-in-flight': {
    ...resp,
    title: 'a short reply on its way',
    sendsLast: encodeCommand(['PING']),
    withinS: 1000,
  },
  'http-silent': { ...http, title: 'nothing sent', withinS: 14 },
  'http-head': {
    ...http,
    title: 'in the middle of headers',
    sends: requestOf('GET', '/healthz').slice(0, -2),
    withinS: 14,
  },
  'http-body': {
    ...http,
    title: 'in the middle of a body',
    sends:
      requestOf('PUT', '/v1/generators/x', 'content-type: application/json', 'content-length: 60000') +
      ' '.repeat(50_000),
    withinS: 14,
  },
  'http-idle': { ...http, title: 'idle after an answer', sends: requestOf('GET', '/healthz'), withinS: 76 },
  'http-unread': {
    ...http,
    title: 'with many answers unread',
    sends: requestOf('POST', '/v1/generators/target/next?count=100000', 'content-length: 0').repeat(20),
    reads: false,
    withinS: 35,
  },
  'http-in-flight': {
    ...http,
    title: 'a short answer on its way',
    sendsLast: requestOf('GET', '/healthz'),
    withinS: 76,
  },
  'pg-silent': { ...postgres, login: false, title: 'before the login, nothing sent', withinS: 8 },
  'pg-part': {
    ...postgres,
    login: false,
    title: 'before the login, in the middle of a message',
    sends: startup('admin').subarray(0, -1),
    withinS: 8,
  },
  'pg-idle': { ...postgres, title: 'logged in and idle', withinS: 75 },
  'pg-long': {
    ...postgres,
    title: 'in the middle of a long message',
    sends: postgresQuery(' '.repeat(200_000)).subarray(0, -1),
    withinS: 75,
  },
  'pg-transaction': {
    ...postgres,
    title: 'in a transaction',
    sends: postgresQuery("BEGIN; SELECT nextval('target')"),
    withinS: 75,
  },
  'pg-unread': {
    ...postgres,
    title: 'with many results unread',
    sends: Buffer.concat(
      Array.from({ length: 20 }, () =>
        postgresQuery("SELECT nextval('target') FROM generate_series(1, 100000)"),
      ),
    ),
    reads: false,
    withinS: 35,
  },
  'pg-in-flight': {
    ...postgres,
    title: 'a short result on its way',
    sendsLast: postgresQuery('SELECT 1'),
    withinS: 1000,
  },
  'mysql-silent': { ...mysql, login: false, title: 'before the login, nothing sent', withinS: 18 },
  'mysql-part': {
    ...mysql,
    login: false,
    title: 'before the login, in the middle of a packet',
    sends: packetOf(response('attacker'), 1).subarray(0, -1),
    withinS: 18,
  },
  'mysql-idle': { ...mysql, title: 'logged in and idle', withinS: 75 },
  'mysql-long': {
    ...mysql,
    title: 'in the middle of an INSERT',
    sends: mysqlQuery(`INSERT INTO target (body) VALUES ('${'x'.repeat(600_000)}')`).subarray(0, -1),
    withinS: 75,
  },
  'mysql-transaction': {
    ...mysql,
    title: 'in a transaction',
    sends: Buffer.concat([mysqlQuery('BEGIN'), mysqlQuery('SELECT 1')]),
    withinS: 75,
  },
  'mysql-unread': {
    ...mysql,
    title: 'with a result of 100 MB unread',
    sends: mysqlQuery("SELECT REPEAT('x', 10000) FROM seq_1_to_10000"),
    reads: false,
    withinS: 605,
  },
  'mysql-waiting': {
    ...mysql,
    title: 'while an INSERT waits for an id',
    sendsLast: mysqlQuery("INSERT INTO target (body) VALUES ('x')"),
    withinS: 1010,
  },
  'mysql-in-flight': { ...mysql, title: 'a short reply on its way', sendsLast: ping, withinS: 1000 },
  'upstream-new': { ...upstream, isLate: true, title: 'before a client connects', withinS: 20 },
  'upstream-login': {
    ...upstream,
    login: false,
    title: 'in the middle of a login',
    sendsLast: packetOf(response('attacker'), 1),
    withinS: 20,
  },
  'upstream-idle': { ...upstream, title: 'while the client is idle', withinS: 80 },
  'upstream-result': {
    ...upstream,
    title: 'in the middle of a result',
    sends: unfinishedResult,
    withinS: 80,
  },
  'upstream-in-flight': {
    ...upstream,
    title: 'a short command on its way',
    sendsLast: ping,
    withinS: 1010,
  },
}

function requestOf(method: string, path: string, ...lines: readonly string[]): string {
  return [`${method} ${path} HTTP/1.1`, 'host: localhost', basic('admin'), ...lines, '', ''].join('\r\n')
}

/** Opens a connection of a kind. */
export async function open({ host, ports }: Target, localAddress: string, kind: Kind): Promise<Socket> {
  const socket = connect({ host, port: ports[kind.transport], localAddress })
  await once(socket, 'connect')
  socket.on('error', () => {})
  if (kind.login) await logIn(socket, kind.transport)
  if (kind.reads) socket.resume()
  socket.write(kind.sends)
  return socket
}

async function logIn(socket: Socket, transport: Kind['transport']): Promise<void> {
  if (transport === 'resp') {
    socket.write(encodeCommand(['AUTH', 'admin', password]))
    await answer(socket, '+OK')
  } else if (transport === 'postgres') {
    socket.write(postgresLogin('admin', password), 'latin1')
    await answer(socket, 'Z\0\0\0\x05I')
  } else {
    await answer(socket, 'mysql_native_password')
    socket.write(mysqlLogin('attacker'), 'latin1')
    await answer(socket, '\0\0\0\x02\0')
  }
}

/** Takes what the server sends, up to this. */
async function answer(socket: Socket, last: string): Promise<void> {
  for (let text = ''; !text.includes(last); ) {
    await once(socket, 'readable')
    text += socket.read()?.toString('latin1') ?? ''
  }
}

if (import.meta.main) {
  const plan = JSON.parse(process.argv[2]!) as Plan
  const last: (() => void)[] = []
  process.on('SIGUSR2', () => {
    for (const send of last) send()
  })
  await listenAsUpstream(plan.upstream)
  for (const [name, address] of Object.entries(plan.addresses)) {
    const kind = kinds[name]!
    const sockets = await Promise.all(Array.from({ length: plan.clients }, () => open(plan, address, kind)))
    for (const socket of sockets) last.push(() => socket.write(kind.sendsLast))
  }
  await pause(settleMs)
  console.log('ready')
}
