/** A server with a few commands of its own, and a client that is nothing but a socket. */

import { once } from 'node:events'
import { connect as connectTo, type Socket } from 'node:net'
import { Access, everything, unauthenticated } from '../../../src/auth/access.ts'
import type { Proving } from '../../../src/auth/node-proof.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { type Command, Issued, ok } from '../../../src/commands/command.ts'
import type { CommandContext } from '../../../src/commands/context.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { Run } from '../../../src/ids/run.ts'
import { IssuedTexts } from '../../../src/operations/issued-texts.ts'
import { type RespServer, type RespServerOptions, startRespServer } from '../../../src/resp/server.ts'

/** Makes proofs that a node of a test does not check. */
export const proving: Proving = { proofFor: () => 'proof', revisionOf: () => 1 }

/** Counts. */
export class Counter {
  next: bigint

  constructor(next = 1n) {
    this.next = next
  }

  nextIsSafe(): boolean {
    return this.next < 2n ** 53n
  }
}

/** What the test's commands work on. */
export class World {
  readonly counters = new Map<string, Counter>()
  /** How often handlers ran, by command. */
  readonly ran: string[] = []
  /** Lets the oldest WAIT go on. */
  readonly waits: ((value: string) => void)[] = []
  readonly errors: unknown[] = []
  aborted = 0

  counter(name: string): Counter {
    const counter = this.counters.get(name) ?? new Counter()
    this.counters.set(name, counter)
    return counter
  }

  /** Lets the oldest WAIT answer; waits until there is one. */
  async release(value: string): Promise<void> {
    while (this.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
    this.waits.shift()!(value)
  }
}

const common = {
  flags: [],
  permission: 'connection',
  group: 'generic',
  summary: '',
  reply: '',
} as const

/** The test's commands. */
export function commandsOf(world: World): readonly Command[] {
  const sub = (name: string, arity: number, handler: Command['handler']): Command => ({
    ...common,
    name,
    arity,
    handler: handler!,
  })
  return [
    {
      ...common,
      name: 'incr',
      arity: 2,
      handler(context, args) {
        world.ran.push('incr')
        const counter = world.counter(args.text(0))
        if (!context.session.exact && !counter.nextIsSafe()) throw new FahaoError('UNSAFE', 'use ID.NEXT')
        return new Issued(counter.next++)
      },
    },
    sub('echo', 2, (_, args) => args.bytes(0)),
    sub('ping', -1, () => ok),
    sub('big', 2, (_, args) => Buffer.alloc(Number(args.text(0)), 'x')),
    sub('later', 2, async (_, args) => {
      const text = args.text(0)
      await null
      return text
    }),
    {
      ...sub('wait', 1, ({ session }) => {
        session.signal.addEventListener('abort', () => world.aborted++)
        return new Promise((resolve) => world.waits.push(resolve))
      }),
    },
    {
      ...sub('draw', 2, async (_, args) => {
        world.ran.push(`draw ${args.text(0)}`)
        if (args.text(0) === 'fails') throw new FahaoError('DRY', 'the buffer is empty')
        return new Promise((resolve) => world.waits.push(resolve))
      }),
      overlaps(_, args) {
        if (args.text(0) === 'bug') throw new TypeError('a bug that looks ahead')
        return true
      },
    },
    {
      ...sub('change', 2, async (_, args) => {
        world.ran.push(`change ${args.text(0)}`)
        return new Promise((resolve) => world.waits.push(resolve))
      }),
      change: { event: 'set' },
      overlaps: () => true,
    },
    sub('many', -2, async (_, args) => {
      const run = new Run()
      run.set(BigInt(args.text(0)), Number(args.text(1)), 1)
      const text = args.length === 3 ? compileFormat(`${args.text(2)}{id}`).texts() : undefined
      return new IssuedTexts([run], text)
    }),
    sub('fail', 1, () => {
      throw new FahaoError('DRY', 'the buffer is empty')
    }),
    sub('bug', 1, () => {
      throw new TypeError('a bug')
    }),
    sub('latebug', 1, () => Promise.reject(new TypeError('a late bug'))),
    sub('halfbug', 1, () => ['whole', Symbol('no reply') as never]),
    { ...sub('hello', -2, hello), flags: ['no_auth'] },
    { ...sub('auth', 2, auth), flags: ['no_auth'] },
    {
      ...sub('quit', 1, ({ session }) => {
        session.close()
        return ok
      }),
      flags: ['no_auth'],
    },
    sub('library', 2, ({ session }, args) => {
      session.libraryName = args.text(0)
      return ok
    }),
    {
      ...common,
      name: 'client',
      arity: -2,
      subcommands: [
        sub('last', 2, ({ session }) => session.lastCommand),
        sub('address', 2, ({ session }) => session.address),
      ],
    },
  ]
}

function hello({ session }: CommandContext, args: { text(index: number): string }) {
  session.protocol = args.text(0) === '3' ? 3 : 2
  return null
}

function auth({ session }: CommandContext, args: { text(index: number): string }) {
  const user = args.text(0)
  session.access = user === 'none' || user === '' ? unauthenticated : new Access(user, undefined, ['*'])
  return ok
}

/** A server over the test's commands, closed when `test` ends. */
export async function serve(
  test: { after(callback: () => Promise<void>): void },
  options: Partial<RespServerOptions> = {},
): Promise<{ server: RespServer; world: World }> {
  const world = new World()
  const server = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: new CommandTable(commandsOf(world)),
    context: (session) =>
      ({ session, server: { access: { initialOf: () => everything } } }) as unknown as CommandContext,
    onError: (error) => world.errors.push(error),
    ...options,
  })
  test.after(() => server.close(0))
  return { server, world }
}

/** Such a server, and a client of it. */
export async function connect(...args: Parameters<typeof serve>) {
  const served = await serve(...args)
  return { ...served, peer: await Peer.to(served.server) }
}

/** A socket that remembers what it was sent. */
export class Peer {
  readonly socket: Socket
  received = ''
  readonly closed: Promise<string>

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => socket.on('close', () => resolve(this.received)))
  }

  static async to(server: RespServer): Promise<Peer> {
    const socket = connectTo({ port: server.port, host: '127.0.0.1', allowHalfOpen: false })
    const peer = new Peer(socket)
    await once(socket, 'connect')
    return peer
  }

  /** One over a connection of the caller's. */
  static over(socket: Socket): Peer {
    return new Peer(socket)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Resolves once exactly these bytes have come since the last call; rejects at the first that differs. */
  async expect(text: string): Promise<void> {
    while (this.received.length < text.length && text.startsWith(this.received) && !this.socket.destroyed) {
      await Promise.race([once(this.socket, 'data'), this.closed])
    }
    if (!this.received.startsWith(text)) {
      throw new Error(`expected ${brief(text)}, received ${brief(this.received)}`)
    }
    this.received = this.received.slice(text.length)
  }

  /** Sends, and returns the `count` lines that come back. */
  async line(text: string, count = 1): Promise<string> {
    this.send(text)
    while (this.received.split('\r\n').length <= count) await once(this.socket, 'data')
    const line = this.received
    this.received = ''
    return line
  }

  /** Sends, and expects. */
  async ask(text: string, reply: string): Promise<void> {
    this.send(text)
    await this.expect(reply)
  }
}

/** A request as an array of bulk strings. */
export function frame(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
}

function brief(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}… (${text.length})` : text)
}
