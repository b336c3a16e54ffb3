/** Logins at a real server, by AUTH and by HTTP's Basic: whether their times tell users apart, what reconnects cost. */
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { ReplyError } from '../test/launch/raw-reply.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import type { Effort } from './rounds.ts'
import { figuresOf, timesOf } from './told-apart.ts'

const reconnects = 2000
/** Users of each kind: the limit of one user's failures is not reached. */
const usersOfKind = 4
/** A kind of user, the first letter of its names, and the rules that make one; none for the unknown. */
const kinds: Readonly<Record<string, readonly [letter: string, ...rules: string[]]>> = {
  'unknown user': ['u'],
  'user that is off': ['f', 'off', '>one'],
  'user with one password': ['o', 'on', '>one'],
  'user with two passwords': ['t', 'on', '>one', '>two'],
}
const administrator = ['admin', 'on', '>secret', '~*', '+@all']

/** One attempt by a transport: the word that opens the error. */
type Attempt = (user: string, password: string) => Promise<string>

/** A server with users of each kind. */
export async function loginAtServer(lifetime: Lifetime, { quick }: Effort): Promise<Section[]> {
  const server = await startFahao(lifetime, { args: ['--log-level', 'error'] })
  await createUsers(server)
  const figures: Figure[] = []
  // A refusal over HTTP is sent after 20 ms.
  const [hashed, limited] = quick ? [50, 200] : [150, 1500]
  const transports = {
    AUTH: (localAddress: string) => overResp(server.resp, localAddress),
    Basic: (localAddress: string) => overHttp(server.http, localAddress),
  }
  let place = 0
  for (const [name, open] of Object.entries(transports)) {
    const wrong = await timesOf(Object.keys(kinds), hashed, async (kind, round) => {
      place++
      // From another address each time: the limit of an address is not reached.
      const { attempt, close } = await open(`127.1.${place >> 8}.${place & 255}`)
      const time = await timed(attempt, userOf(kind, round), `wrong ${name} ${round}`, 'WRONGPASS')
      close()
      return time!
    })
    const { attempt, close } = await open(`127.2.0.${name.length}`)
    await Promise.all(Array.from({ length: 10 }, (_, n) => attempt('nosuch', `early ${n}`)))
    const refused = await timesOf(Object.keys(kinds), limited, async (kind, round) => {
      for (let nth = 0; ; nth++) {
        const time = await timed(attempt, userOf(kind, round), `limited ${round} ${nth}`, 'QUOTA')
        if (time !== undefined) return time
      }
    })
    close()
    figures.push(...figuresOf(`${name}, wrong password`, wrong), ...figuresOf(`${name}, limited`, refused))
  }
  figures.push(await reconnectCost(server))
  return [
    {
      name: 'Logins at a server, told apart by time',
      how: `As above, at a server over loopback: ${hashed} rounds with a derivation at the present cost, each attempt on a connection and from an address of its own; ${limited} rounds on one connection of an address that is limited.`,
      figures,
    },
  ]
}

async function createUsers(server: FahaoServer): Promise<void> {
  const first = await RawClient.connect(server.resp)
  await first.command('ACL', 'SETUSER', ...administrator)
  await first.close()
  const client = await RawClient.connect(server.resp)
  await client.command('AUTH', 'admin', 'secret')
  for (const [kind, [, ...rules]] of Object.entries(kinds)) {
    for (let n = 0; rules.length > 0 && n < usersOfKind; n++) {
      const reply = await client.command('ACL', 'SETUSER', userOf(kind, n), ...rules)
      if (reply instanceof ReplyError) throw new Error(reply.text)
    }
  }
  await client.close()
}

/** A user of a kind, another one in each round. */
function userOf(kind: string, round: number): string {
  return `${kinds[kind]![0]}-${round % usersOfKind}`
}

/** The time of an attempt, in µs; undefined if it was checked instead of limited. */
async function timed(
  attempt: Attempt,
  user: string,
  password: string,
  expected: 'WRONGPASS' | 'QUOTA',
): Promise<number | undefined> {
  const start = process.hrtime.bigint()
  const word = await attempt(user, password)
  const time = Number(process.hrtime.bigint() - start) / 1000
  if (word === expected) return time
  if (word === 'WRONGPASS') return undefined
  throw new Error(`${user} got ${word}, not ${expected}`)
}

async function overResp(port: number, localAddress: string): Promise<{ attempt: Attempt; close(): void }> {
  const socket = await connected(port, localAddress)
  const waiting: ((line: string) => void)[] = []
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const lines = (received + chunk).split('\r\n')
    received = lines.pop()!
    for (const line of lines) waiting.shift()!(line)
  })
  const attempt: Attempt = (user, password) =>
    new Promise((resolve) => {
      waiting.push((line) => resolve(line.split(' ')[0]!.slice(1)))
      socket.write(`*3\r\n$4\r\nAUTH\r\n$${user.length}\r\n${user}\r\n$${password.length}\r\n${password}\r\n`)
    })
  return { attempt, close: () => socket.destroy() }
}

function connected(port: number, localAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })
}

async function overHttp(base: string, localAddress: string): Promise<{ attempt: Attempt; close(): void }> {
  const agent = new Agent({ keepAlive: true })
  const attempt: Attempt = (user, password) =>
    new Promise((resolve, reject) => {
      const options = { agent, localAddress, auth: `${user}:${password}` }
      const sent = request(`${base}/v1/generators`, options, (response) => {
        let body = ''
        response
          .setEncoding('utf8')
          .on('data', (chunk) => {
            body += chunk
          })
          .on('end', () => resolve(JSON.parse(body).code))
      })
      sent.on('error', reject).end()
    })
  return { attempt, close: () => agent.destroy() }
}

/** Processor time of the server while one user connects and logs in many times. */
async function reconnectCost(server: FahaoServer): Promise<Figure> {
  await loggedIn(server.resp)
  const before = processCpuUs(server.pid)
  for (let start = 0; start < reconnects; start += 100) {
    await Promise.all(Array.from({ length: 100 }, () => loggedIn(server.resp)))
  }
  const value = (processCpuUs(server.pid) - before) / 1000
  const what = `${reconnects} connections of a known user, with AUTH: processor time of the server`
  return { what, unit: 'ms', value, low: value, high: value, budget: { most: 1000 } }
}

async function loggedIn(port: number): Promise<void> {
  const client = await RawClient.connect(port)
  const reply = await client.command('AUTH', userOf('user with one password', 0), 'one')
  if (reply instanceof ReplyError) throw new Error(reply.text)
  await client.close()
}
