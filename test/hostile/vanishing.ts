/**
 * Clients whose machine loses its network: `node test/hostile/vanishing.ts PLAN`, a JSON. They connect, send what their kind
 * sends, print `ready`, and wait. At SIGUSR2 they send the rest.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeCommand } from '../launch/raw-client.ts'
import { basic, password } from './attack.ts'

/** What clients of a kind have done when their network is lost. */
export type Kind = {
  readonly title: string
  readonly transport: 'resp' | 'http'
  /** Logs in first, over RESP. */
  readonly login: boolean
  readonly sends: string | Buffer
  /** Sent when replies no longer reach the client. */
  readonly sendsLast: string | Buffer
  readonly reads: boolean
  /** Within how many seconds the server must have closed the connections. */
  readonly withinS: number
}

/** The server, the number of clients of each kind, and the address of each kind. */
export type Plan = {
  readonly host: string
  readonly ports: Readonly<Record<Kind['transport'], number>>
  readonly clients: number
  readonly addresses: Readonly<Record<string, string>>
}

const settleMs = 1000
const resp = { transport: 'resp', login: true, sends: '', sendsLast: '', reads: true } as const
const http = { transport: 'http', login: false, sends: '', sendsLast: '', reads: true } as const
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
}

function requestOf(method: string, path: string, ...lines: readonly string[]): string {
  return [`${method} ${path} HTTP/1.1`, 'host: localhost', basic('admin'), ...lines, '', ''].join('\r\n')
}

function open({ host, ports }: Plan, localAddress: string, kind: Kind): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: ports[kind.transport], localAddress })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject).on('error', () => {})
      if (kind.reads) socket.resume()
      if (kind.login) socket.write(encodeCommand(['AUTH', 'admin', password]))
      socket.write(kind.sends)
      resolve(socket)
    })
  })
}

if (import.meta.main) {
  const plan = JSON.parse(process.argv[2]!) as Plan
  const last: (() => void)[] = []
  process.on('SIGUSR2', () => {
    for (const send of last) send()
  })
  for (const [name, address] of Object.entries(plan.addresses)) {
    const kind = kinds[name]!
    for (let count = 0; count < plan.clients; count++) {
      const socket = await open(plan, address, kind)
      last.push(() => socket.write(kind.sendsLast))
    }
  }
  await pause(settleMs)
  console.log('ready')
}
