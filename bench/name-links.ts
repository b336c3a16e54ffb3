/** Asks many names once each, over many connections. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { encodeCommand } from '../test/launch/raw-client.ts'

const [newline, dash] = [10, 45]

/** The key that redis-benchmark makes of a number; of `-r COUNT` it takes 0 … COUNT − 1. */
export function benchmarkKey(index: number): string {
  return `counter:${`${index}`.padStart(12, '0')}`
}

/** Which names are asked, and how: connections, and requests under way on each. */
export type Asking = {
  readonly count: number
  readonly nameOf: (index: number) => string
  readonly connections?: number
  readonly pipeline?: number
  readonly login?: Login
  /** Default: INCR. */
  readonly request?: NameRequest
}

/** What is asked about a name: its bytes as text, and the lines of its reply. */
export type NameRequest = { readonly of: (name: string) => string; readonly replyLines: number }

const incrOf: NameRequest = { of: incr, replyLines: 1 }
/** GET of a name that has issued an id. */
export const getOf: NameRequest = {
  of: (name) => `*2\r\n$3\r\nGET\r\n$${name.length}\r\n${name}\r\n`,
  replyLines: 2,
}

/** A user of the server. */
export type Login = { readonly user: string; readonly password: string }

/** Asks each name once; resolves to the seconds that it took. Rejects when a reply is an error. */
export async function askEach(
  port: number,
  { count, nameOf, connections = 64, pipeline = 16, login, request = incrOf }: Asking,
): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port, login)))
  const fromMs = performance.now()
  let next = 0
  const askOn = async (socket: Socket) => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + pipeline)
      let requests = ''
      for (let index = from; index < next; index++) requests += request.of(nameOf(index))
      await ask(socket, Buffer.from(requests, 'latin1'), (next - from) * request.replyLines)
    }
  }
  await Promise.all(sockets.map(askOn))
  const seconds = (performance.now() - fromMs) / 1000
  for (const socket of sockets) socket.destroy()
  return seconds
}

/** The bytes of INCR of a name in ASCII, as text. */
export function incr(name: string): string {
  return `*2\r\n$4\r\nINCR\r\n$${name.length}\r\n${name}\r\n`
}

/** A connection without a login, or with one. */
export async function open(port: number, login?: Login): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  if (login) await ask(socket, encodeCommand(['AUTH', login.user, login.password]), 1)
  return socket
}

/** Sends requests, and waits for as many lines of replies. Rejects when one is an error. */
export function ask(socket: Socket, requests: Buffer, lines: number): Promise<void> {
  let left = lines
  let lineStart = true
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      socket.off('data', read).off('close', ended)
      if (error) reject(error)
      else resolve()
    }
    const read = (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at++) {
        if (lineStart && chunk[at] === dash)
          return settle(new Error(`a reply is an error: ${chunk.toString('latin1', at, at + 200)}`))
        lineStart = chunk[at] === newline
        if (lineStart) left--
      }
      if (left === 0) settle()
    }
    const ended = () => settle(new Error('the server has ended the connection'))
    socket.on('data', read).on('close', ended)
    socket.write(requests)
  })
}
