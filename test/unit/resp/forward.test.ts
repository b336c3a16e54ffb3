import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Access } from '../../../src/auth/access.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { NodeRecord } from '../../../src/cluster/records.ts'
import type { ClusterListener } from '../../../src/cluster/shell.ts'
import {
  type Command,
  Issued,
  MapReply,
  ok,
  type Reply,
  VerbatimText,
} from '../../../src/commands/command.ts'
import type { ClientSession, CommandContext } from '../../../src/commands/context.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { Forwarder } from '../../../src/forwarding/forwarder.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { clusterCommands, RespTransport } from '../../../src/resp/forward.ts'
import { ReplySplitter } from '../../../src/resp/reply-splitter.ts'
import type { RespServer } from '../../../src/resp/server.ts'
import { frame, Peer, proving, serve } from './peer.ts'

const common = { flags: [], permission: 'connection', group: 'generic', summary: '', reply: '' } as const
const wide = 2n ** 60n
/** An address without a listener: no system assigns this port, as it might one that was just freed. */
const vacant = '127.0.0.1:1'

/** A node that leads, or holds another for the leader. */
class Node {
  /** `host:port` of the one that is held for the leader; undefined: this node. */
  leader: string | undefined
  /** What a look at the engine changes that to. */
  foundLeader: string | undefined
  looks = 0
  /** What waits for another leader than one that cannot be reached; `waiting` resolves when something does. */
  #waits: (() => void)[] = []
  readonly waiting = Promise.withResolvers<void>()
  #onDead: (address: string) => void = () => {}
  next = 1n
  /** Whether draws get no answer here. */
  hangs = false
  readonly asked: string[] = []
  server!: RespServer

  get address(): string {
    return `127.0.0.1:${this.server.port}`
  }

  async start(t: TestContext, forward: boolean, timeoutMs = 5000): Promise<this> {
    const forwarder = new Forwarder(
      this.#cluster(),
      new RespTransport(systemClock, timeoutMs, dialPlain, proving),
      forward,
    )
    t.after(() => forwarder.close())
    const table = new CommandTable(this.#commands())
    const find = (name: string) => ({ mode: name === 'strict' ? 'leader' : 'node' })
    const options = {
      table: clusterCommands(table, forwarder),
      context: (session: ClientSession) => ({ session, catalogue: { find } }) as unknown as CommandContext,
    }
    this.server = (await serve(t, options)).server
    return this
  }

  #cluster(): ClusterView {
    const lead = () =>
      this.leader === undefined ? { state: 'here' } : { state: 'elsewhere', node: nodeAt(this.leader) }
    const leadWithin = async (_slot: number, _waitMs: number, sentHere: boolean, unreachable?: string) => {
      assert.equal(sentHere, true)
      if (unreachable === undefined) {
        this.looks++
        this.leader = this.foundLeader
      } else {
        assert.equal(unreachable, nodeAt(this.leader!).id)
        this.waiting.resolve()
        await new Promise<void>((resolve) => this.#waits.push(resolve))
      }
      return lead()
    }
    const listen = ({ onDead }: ClusterListener) => {
      this.#onDead = (resp) => onDead?.({ resp } as NodeRecord)
      return () => {}
    }
    return { lead, leadWithin, listen } as unknown as ClusterView
  }

  /** Ends the wait for another leader: it is this one now, or, undefined, this node. */
  follow(leader: string | undefined): void {
    this.leader = leader
    for (const resolve of this.#waits.splice(0)) resolve()
  }

  /** The node there is declared dead. */
  isDead(address: string): void {
    this.#onDead(address)
  }

  #commands(): Command[] {
    const keyed = (
      name: string,
      arity: number,
      answer: (text: string) => Reply | Promise<Reply>,
    ): Command => ({
      ...common,
      name,
      arity,
      keys: [1, 1, 1],
      overlaps: () => true,
      handler: (_, args) => {
        const text = args.text(args.length - 1)
        this.asked.push(text)
        if (this.leader !== undefined && text !== 'loose') {
          const { id, resp } = nodeAt(this.leader)
          throw new Moved({ node: id, slot: 1234, resp, http: undefined })
        }
        return answer(text)
      },
    })
    return [
      {
        ...keyed('draw', 2, (text) => (text === 'strict' ? new Issued(this.next++) : text)),
        permission: 'issue',
      },
      {
        ...keyed('hang', 2, () => (this.hangs ? new Promise<Reply>(() => {}) : new Issued(this.next++))),
        permission: 'issue',
      },
      keyed('next', 2, () => new Issued(this.next++)),
      keyed('later', 2, async (text) => text),
      keyed('wide', 2, () => new Issued(wide)),
      keyed('map', 2, (text) => new MapReply([[text, [null, 1, new VerbatimText('x')]]])),
      keyed('echo', 3, (text) => text),
      keyed('never', 2, () => new Promise(() => {})),
      keyed('fail', 2, () => {
        throw new FahaoError('DRY', 'the buffer is empty')
      }),
      keyed('limited', 2, () => {
        throw new FahaoError('QUOTA', 'retry in 5 ms', { retryAfterMs: 5 })
      }),
      { ...keyed('change', 2, (text) => text), change: { event: 'set' }, overlaps: () => false },
      {
        ...keyed('version', 2, (text) => text),
        handler: ({ session }) => {
          if (this.leader === undefined) return session.libraryVersion
          throw new Moved({ node: nodeAt(this.leader).id, slot: 1, resp: this.leader, http: undefined })
        },
      },
      { ...common, name: 'ping', arity: -1, handler: () => ok },
      {
        ...common,
        name: 'hello',
        arity: -2,
        handler: ({ session }, args) => {
          session.protocol = args.text(0) === '3' ? 3 : 2
          if (args.length > 1)
            session.access = new Access(args.text(2), undefined, ['*'], { isForwarded: true })
          return ok
        },
      },
      {
        ...common,
        name: 'client',
        arity: -2,
        subcommands: [
          {
            ...common,
            name: 'setinfo',
            arity: 4,
            handler: ({ session }, args) => {
              if (args.token(0) === 'LIB-VER') session.libraryVersion = args.text(1)
              else session.libraryName = args.text(1)
              return ok
            },
          },
        ],
      },
    ]
  }
}

function nodeAt(address: string) {
  return { id: `node at ${address}`, resp: address }
}

/** One node that leads and one that forwards to it, and a client of the latter. */
async function pair(t: TestContext): Promise<{ leader: Node; other: Node; peer: Peer }> {
  const leader = await new Node().start(t, true)
  const other = await new Node().start(t, true)
  other.leader = leader.address
  return { leader, other, peer: await Peer.to(other.server) }
}

describe('a request for a generator that is led elsewhere', () => {
  test('is refused with the address of the leader where nothing is forwarded', async (t) => {
    const node = await new Node().start(t, false)
    node.leader = '10.0.0.1:7379'
    const peer = await Peer.to(node.server)
    await peer.ask(frame('NEXT', 'a'), '-MOVED 1234 10.0.0.1:7379\r\n')
    node.leader = '[fd00::3]:7379'
    await peer.ask(frame('NEXT', 'a'), '-MOVED 1234 fd00::3:7379\r\n')
  })

  test('is answered by the leader, in the place that it has in a pipeline', async (t) => {
    const { leader, peer } = await pair(t)
    leader.next = 41n
    await peer.ask(
      frame('NEXT', 'a') + frame('PING') + frame('LATER', 'b') + frame('FAIL', 'c') + frame('NEXT', 'a'),
      ':41\r\n+OK\r\n$1\r\nb\r\n-DRY the buffer is empty\r\n:42\r\n',
    )
  })

  test('tells the leader the address of the client before it changes something', async (t) => {
    const { peer } = await pair(t)
    await peer.ask(frame('VERSION', 'k'), '$0\r\n\r\n')
    await peer.ask(frame('CHANGE', 'k') + frame('VERSION', 'k'), '$1\r\nk\r\n$9\r\n127.0.0.1\r\n')
  })

  test('is answered as the leader would answer this very client, in either protocol', async (t) => {
    const { leader, other } = await pair(t)
    for (const hello of ['', frame('HELLO', '3')]) {
      for (const library of ['', frame('CLIENT', 'SETINFO', 'LIB-NAME', 'ioredis')]) {
        for (const request of [frame('MAP', 'k'), frame('WIDE', 'k'), frame('ECHO', 'k', '发\r\n号')]) {
          const replies: string[] = []
          for (const { server } of [leader, other]) {
            const peer = await Peer.to(server)
            if (hello) await peer.ask(hello, '+OK\r\n')
            if (library) await peer.ask(library, '+OK\r\n')
            // Replies have no common end; PING's has.
            peer.send(request + frame('PING'))
            while (!peer.received.endsWith('+OK\r\n'))
              await new Promise((resolve) => peer.socket.once('data', resolve))
            replies.push(peer.received)
          }
          assert.equal(replies[1], replies[0])
        }
      }
    }
  })

  test('that a quota refuses lets the connection of its client rest, and no other client of the same user', async (t) => {
    const { other, peer } = await pair(t)
    const neighbour = await Peer.to(other.server)
    const startedMs = performance.now()
    let earlier = 0
    for (let id = 1; id <= 8; id++) {
      await peer.ask(frame('LIMITED', 'a'), '-QUOTA retry in 5 ms\r\n')
      const order: string[] = []
      const rested = peer.ask(frame('PING'), '+OK\r\n').then(() => order.push('the refused client'))
      await neighbour.ask(frame('NEXT', 'b'), `:${id}\r\n`)
      order.push('the other client')
      await rested
      if (order[0] === 'the other client') earlier++
    }
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs > 100, `8 refusals of a client took ${tookMs} ms`)
    assert.ok(earlier > 0, 'the other client was never answered first')
  })

  test('keeps its bytes while it waits behind others', async (t) => {
    const { peer } = await pair(t)
    const long = 'x'.repeat(30_000)
    const requests = Array.from({ length: 200 }, (_, at) => frame('ECHO', 'k', `${at}${long}`))
    peer.send(requests.join(''))
    await peer.expect(
      Array.from({ length: 200 }, (_, at) => `$${30_000 + String(at).length}\r\n${at}${long}\r\n`).join(''),
    )
  })

  test('is forwarded once: a node that receives it by mistake looks the leader up again, and answers', async (t) => {
    const { leader, other, peer } = await pair(t)
    leader.leader = other.address
    leader.foundLeader = undefined
    await peer.ask(frame('NEXT', 'a'), ':1\r\n')
    assert.equal(leader.looks, 1)
    assert.deepEqual(other.asked, ['a'])
  })

  test('goes to a third node that has taken over since, or is answered by the node that received it', async (t) => {
    const { leader, other, peer } = await pair(t)
    const third = await new Node().start(t, true)
    for (const node of [leader, other]) node.foundLeader = third.address
    leader.leader = third.address
    await peer.ask(frame('NEXT', 'a'), ':1\r\n')
    assert.deepEqual(third.asked, ['a'])
    other.leader = leader.address
    leader.foundLeader = other.address
    other.foundLeader = undefined
    other.next = 7n
    await peer.ask(frame('NEXT', 'a'), ':7\r\n')
  })

  test('gets a retryable error if no node takes over from a leader that cannot be reached', async (t) => {
    const { other, peer } = await pair(t)
    other.leader = vacant
    peer.send(frame('NEXT', 'a'))
    await other.waiting.promise
    other.follow(vacant)
    assert.match(
      await peer.line(''),
      /^-CLUSTERDOWN the leader at 127\.0\.0\.1:\d+ cannot be reached \(.*\), and no other node took over in time; retry\r\n$/,
    )
  })

  test('gets UNKNOWN at once when a silent leader is declared dead', async (t) => {
    const { leader, other, peer } = await pair(t)
    peer.send(frame('NEVER', 'a'))
    while (leader.asked.length === 0) await new Promise(setImmediate)
    other.isDead('127.0.0.1:1')
    other.isDead(leader.address)
    assert.match(
      await peer.line(''),
      /^-UNKNOWN the leader at .* did not answer \(it was declared dead\); retry\r\n$/,
    )
    assert.deepEqual(leader.asked, ['a'])
  })

  test('is sent on without being refused first where it is known that it draws from what is led elsewhere', async (t) => {
    const { leader, other, peer } = await pair(t)
    await peer.ask(frame('DRAW', 'strict') + frame('DRAW', 'strict'), ':1\r\n:2\r\n')
    assert.deepEqual([leader.asked, other.asked], [['strict', 'strict'], []])
    other.next = 50n
    await peer.ask(frame('DRAW', 'loose'), '$5\r\nloose\r\n')
    other.follow(undefined)
    await peer.ask(frame('DRAW', 'strict'), ':50\r\n')
  })

  test('is not sent again when the reply is lost', async (t) => {
    const { leader, peer } = await pair(t)
    await peer.ask(frame('NEXT', 'a'), ':1\r\n')
    peer.send(frame('NEVER', 'a'))
    while (!leader.asked.includes('a') || leader.asked.length < 2) await new Promise(setImmediate)
    await leader.server.close(0)
    assert.match(await peer.line(''), /^-UNKNOWN the leader at .* did not answer .*retry\r\n$/)
    assert.deepEqual(leader.asked, ['a', 'a'])
  })

  test('is repeated at the next leader when the reply is lost and it only draws', async (t) => {
    const { leader, other, peer } = await pair(t)
    const next = await new Node().start(t, true)
    next.next = 9n
    leader.hangs = true
    peer.send(frame('HANG', 'a') + frame('HANG', 'b') + frame('PING'))
    while (leader.asked.length < 2) await new Promise(setImmediate)
    other.foundLeader = next.address
    other.isDead(leader.address)
    await peer.expect(':9\r\n:10\r\n+OK\r\n')
    assert.deepEqual(next.asked, ['a', 'b'])
  })

  test('gets UNKNOWN if the leader sends no reply in time', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    t.after(() => void silent.close())
    await new Promise((resolve) => silent.once('listening', resolve))
    const other = await new Node().start(t, true, 100)
    other.leader = `127.0.0.1:${(silent.address() as { port: number }).port}`
    const peer = await Peer.to(other.server)
    assert.match(await peer.line(frame('NEXT', 'a')), /^-UNKNOWN .*nothing for 100 ms/)
    peer.socket.destroy()
  })
})

describe('cutting a stream into replies', () => {
  const line = fc.constantFrom('+OK\r\n', '-ERR x\r\n', ':-5\r\n', '(123\r\n', '_\r\n', '#t\r\n', ',1.5\r\n')
  const bulk = fc
    .tuple(fc.constantFrom('$', '=', '!'), fc.stringMatching(/^[a-z\r\n$*+]{0,20}$/))
    .map(([type, text]) => `${type}${text.length}\r\n${text}\r\n`)
  const { reply } = fc.letrec<{ reply: string }>((tie) => ({
    reply: fc.oneof(
      { maxDepth: 3 },
      line,
      bulk,
      fc.constantFrom('$-1\r\n', '*-1\r\n', '*0\r\n'),
      fc
        .tuple(fc.constantFrom('*', '~', '>'), fc.array(tie('reply'), { maxLength: 3 }))
        .map(([type, items]) => `${type}${items.length}\r\n${items.join('')}`),
      fc
        .array(fc.tuple(tie('reply'), tie('reply')), { maxLength: 3 })
        .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join('')}`),
    ),
  }))

  test('finds the replies that were sent, wherever the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(reply, { maxLength: 5 }),
        fc.array(fc.nat(40), { maxLength: 20 }),
        (replies, sizes) => {
          const stream = Buffer.from(replies.join(''))
          const splitter = new ReplySplitter()
          const found: string[] = []
          let at = 0
          for (const size of [...sizes, stream.length]) {
            for (const each of splitter.push(stream.subarray(at, at + size))) found.push(each.toString())
            at += size
          }
          assert.deepEqual(found, replies)
        },
      ),
    )
  })

  test('gives up where there is no reply', () => {
    for (const stream of ['HTTP/1.1 400\r\n', '$x\r\n', '*-2\r\n', '\r\n']) {
      assert.throws(() => new ReplySplitter().push(Buffer.from(stream)), /no reply starts with/)
    }
  })
})
