/** `GET /v1/live` in a cluster: the lines of all nodes in one stream, whatever the others do. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { NodeProof } from '../../../src/auth/node-proof.ts'
import type { Address } from '../../../src/base/address.ts'
import type { ClusterStatus } from '../../../src/cluster/status.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { provenHeaders } from '../../../src/http/forwarded.ts'
import { PeerStreams } from '../../../src/http/native/peer-streams.ts'
import { type HttpServer, startHttpServer } from '../../../src/http/server.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { FakeClock } from '../fake-clock.ts'
import { fakeNode } from './fake-node.ts'
import { countingLooks, Reading, until } from './reading.ts'

type Member = { readonly id: string; http: string | undefined }

/** Nodes that see each other in one list, which has other peers too. */
class Installation {
  readonly clock = new FakeClock(Date.UTC(2026, 10, 1) * 1000)
  readonly members: Member[] = []
  readonly #store = new MemoryStore()
  readonly #t: TestContext
  /** Each with the nodes that it is told of. */
  readonly #readings: {
    readonly reading: Reading
    readonly of: readonly string[]
    readonly isEndless: boolean
  }[] = []
  readonly #nodes: string[] = []
  /** How often each node has looked at its figures. */
  readonly #looks: (() => number)[] = []
  readonly #servers: HttpServer[] = []
  /** Closed last, each of which waits for its connections. */
  readonly #others: Server[] = []

  constructor(t: TestContext) {
    this.#t = t
    t.after(async () => {
      for (const { reading } of this.#readings) reading.close()
      for (const server of this.#servers) await server.close(0)
      for (const other of this.#others) {
        other.closeAllConnections()
        other.close()
      }
    })
  }

  /** A node with the users of all. */
  async node(id: string, users: Readonly<Record<string, readonly string[]>> = {}) {
    const engine = new MemoryEngine(this.#store)
    const proof = await NodeProof.open(engine, () => cluster.nodeId)
    const access = await openAccess(engine, { proof })
    this.#t.after(() => access.close())
    for (const [name, rules] of Object.entries(users)) await setUser(access, name, ...rules)
    const { clock } = this
    const timeline = { nowUs: () => clock.wallUs(), monoUs: () => clock.monoUs() }
    const nodes = () => this.members.map((each) => ({ ...each, isSelf: each.id === cluster.nodeId }))
    const cluster = {
      nodeId: id,
      status: () => ({ nodes: nodes() }) as unknown as ClusterStatus,
      listen: () => () => {},
    }
    const node = Object.assign(fakeNode(), { access, timeline })
    Object.assign(node.server, { cluster })
    const { traffic, looks } = countingLooks()
    this.#looks.push(looks)
    const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, clock, traffic })
    this.#servers.push(server)
    const address = `127.0.0.1:${server.port}`
    const member = { id, http: address }
    this.members.push(member)
    this.#nodes.push(id)
    const add = (name: string, issued: bigint) => {
      const generator = node.catalogue.add(name, { kind: 'segment' })
      generator.figures = { ratePerSecond: 1 }
      generator.next += issued
      return generator
    }
    const read = async (query = '', authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization }
      const sent = send({ port: server.port, path: `/v1/live${query}`, headers, agent: false })
      sent.end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      assert.equal(answer.statusCode, 200)
      const reading = new Reading(sent, answer)
      const of = query.includes('nodes=this') ? [id] : [...this.#nodes]
      this.#readings.push({ reading, of, isEndless: !query.includes('ticks=') })
      return reading
    }
    return { node, access, cluster, member, server, add, read }
  }

  /** A peer that does what `answer` says with each stream that it is asked for; `asked` has the queries. */
  async peer(id: string, answer: (response: ServerResponse, query: string) => void) {
    const asked: string[] = []
    const open = new Set<ServerResponse>()
    const server = createServer((request, response) => {
      const query = request.url!.split('?')[1]!
      asked.push(query)
      open.add(response)
      response.on('close', () => open.delete(response))
      answer(response, query)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#others.push(server)
    const member = { id, http: `127.0.0.1:${(server.address() as AddressInfo).port}` }
    this.members.push(member)
    return { asked, open, server, member }
  }

  /** Lets seconds pass, each when every node has looked at the one before. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      const before = this.#looks.map((looks) => looks())
      await this.clock.pass(1000)
      await until(() => this.#looks.every((looks, index) => looks() > before[index]!))
    }
  }

  /**
   * Lets seconds pass until it holds, and fails if that takes more than `most`. In each of them every open stream gets the lines of
   * all nodes that run.
   */
  async passUntil(holds: () => boolean, most = 20): Promise<void> {
    await until(() => this.#readings.every(({ reading, of }) => of.every((id) => reading.of(id).length > 0)))
    for (let second = 0; !holds(); second++) {
      assert.ok(second < most, 'it never comes')
      const endless = this.#readings.filter(({ isEndless, reading }) => isEndless && !reading.isOver)
      const before = endless.flatMap(({ reading, of }) =>
        of.map((id) => ({ reading, id, count: reading.of(id).length })),
      )
      await this.clock.pass(1000)
      await until(() =>
        before.every(({ reading, id, count }) => reading.isOver || reading.of(id).length > count),
      )
      for (let turn = 0; turn < 1000 && !holds(); turn++)
        await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** The history of a peer, as it writes it. */
const lineOf = (members: object) => `${JSON.stringify({ ...members, generators: {} })}\n`
const historyOf = (node: string) => lineOf({ type: 'history', node, issued: [1] })
const tickOf = (node: string, issued = 1) => lineOf({ type: 'tick', node, issued })

/** Begins well. */
function beginning(response: ServerResponse, id: string): void {
  response.writeHead(200)
  response.write(historyOf(id))
}

describe('the live stream of a cluster', () => {
  test('has the lines of each node, and of one alone where that is asked for', async (t) => {
    const all = new Installation(t)
    const [a, b, c] = [await all.node('a'), await all.node('b'), await all.node('c')]
    a.add('order', 0n)
    const [ofB, ofC] = [b.add('order', 0n), c.add('user', 0n)]
    await all.pass(2)
    ofB.next += 20n
    ofC.next += 300n
    await all.pass(10)
    const [reading, alone] = [await a.read(), await a.read('?nodes=this')]
    const ticked = (id: string) => reading.of(id).filter(({ type }) => type === 'tick').length
    await all.passUntil(() => ['a', 'b', 'c'].every((id) => ticked(id) >= 3))
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => [reading.of(id)[0]!.type, reading.of(id)[0]!.issued]),
      [
        ['history', [0]],
        ['history', [20]],
        ['history', [300]],
      ],
    )
    assert.equal(reading.of('c').at(-1)!.issued, 300)
    assert.ok(reading.lines.every(({ type }, index) => type === 'tick' || index < 3))
    assert.deepEqual([...new Set(alone.lines.map(({ node }) => node))], ['a'])
    // No line goes round: each node tells of each second once.
    const ticks = ['a', 'b', 'c'].map(ticked)
    assert.ok(Math.max(...ticks) - Math.min(...ticks) <= 1, `${ticks}`)
  })

  test('ends when each node has told what was asked for, or is away', async (t) => {
    const all = new Installation(t)
    const [a, b] = [await all.node('a'), await all.node('b')]
    b.add('order', 5n)
    await all.peer('silent', () => {})
    const histories = await a.read('?ticks=0')
    await all.passUntil(() => histories.isOver, 4)
    const types = (reading: Reading) => reading.lines.map(({ type, node }) => `${type} ${node}`)
    assert.deepEqual(types(histories), ['history a', 'history b', 'away silent'])
    const one = await a.read('?ticks=1')
    await all.passUntil(() => one.isOver, 8)
    assert.deepEqual(types(one).slice(0, 2), ['history a', 'history b'])
    const rest = types(one).slice(2).sort()
    assert.deepEqual([rest[0], rest.filter((type) => type === 'tick a').length], ['away silent', 1])
    assert.ok(rest.includes('tick b'))
  })

  test('begins anew with a history when a process has joined again as another node', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const reading = await a.read()
    await all.passUntil(() => reading.of('a').length > 2)
    Object.assign(a.cluster, { nodeId: 'z' })
    Object.assign(a.member, { id: 'z' })
    for (const count of [1, 2]) {
      await all.clock.pass(1000)
      await until(() => reading.of('z').length === count)
    }
    assert.deepEqual(
      reading.of('z').map(({ type }) => type),
      ['history', 'tick'],
    )
  })
})

describe('a peer', () => {
  for (const [what, answer, reason] of [
    ['does not answer', () => {}, 'it has not answered for 2 s'],
    [
      'has no line for long',
      (response: ServerResponse) => beginning(response, 'peer'),
      'it has not sent a line for 5 s',
    ],
    ['refuses', (response: ServerResponse) => response.writeHead(503).end(), 'it answers 503'],
    [
      'has too many readers',
      (response: ServerResponse) => response.writeHead(429).end(),
      'it has no room for more streams',
    ],
    [
      'sends lines without an end',
      (response: ServerResponse) => response.write(historyOf('peer').replace('}}', '}')),
      'it has sent what is no line of its live stream',
    ],
    [
      'takes no proof for its stream',
      (response: ServerResponse) => response.writeHead(401).end(),
      'it answers 401, as an earlier version does',
    ],
    [
      'ends its stream',
      (response: ServerResponse) => response.end(historyOf('peer')),
      'its stream has ended',
    ],
    [
      'sends rubbish',
      (response: ServerResponse) => response.write('<html>\n'),
      'it has sent what is no line of its live stream',
    ],
    [
      'sends lines of another node',
      (response: ServerResponse) => response.write(historyOf('b')),
      'it has sent what is no line of its live stream',
    ],
    [
      'sends a line without end',
      (response: ServerResponse) => {
        const part = Buffer.alloc(2 ** 20, 'x')
        for (let index = 0; index < 6; index++) response.write(part)
      },
      'it has sent a line of more than 4194304 bytes',
    ],
    [
      'breaks off',
      (response: ServerResponse) => {
        response.write('{"type":')
        setImmediate(() => response.destroy())
      },
      /^(its stream has ended|it cannot be reached \(ECONNRESET\))$/,
    ],
  ] as const)
    test(`that ${what} is away, and the others are told of as before`, async (t) => {
      const all = new Installation(t)
      const [a] = [await all.node('a'), await all.node('b')]
      await all.peer('peer', answer)
      const reading = await a.read()
      await all.passUntil(() => reading.of('peer').some(({ type }) => type === 'away'))
      const away = reading.of('peer').find(({ type }) => type === 'away')!
      if (typeof reason === 'string') assert.equal(away.reason, reason)
      else assert.match(away.reason!, reason)
      const before = reading.of('b').length
      await all.passUntil(() => reading.of('b').length > before)
      assert.equal(reading.isOver, false)
    })

  test('that cannot be reached is told of at once, every ten seconds, and when another reader comes', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    all.members.push({ id: 'gone', http: '127.0.0.1:1' }, { id: 'other', http: undefined })
    const reading = await a.read()
    await all.passUntil(() => reading.of('gone').length > 0, 2)
    assert.match(reading.of('gone')[0]!.reason!, /^it cannot be reached \(E\w+\)$/)
    assert.equal(reading.of('other')[0]!.reason, 'it serves no HTTP')
    await all.passUntil(() => reading.of('gone').length > 1, 12)
    const ticks = reading.of('a').filter(({ type }) => type === 'tick').length
    assert.ok(ticks >= 9, `${ticks}`)
    const later = await a.read()
    await all.passUntil(() => later.of('gone').length > 0, 2)
    all.members.splice(1, 1)
    await all.passUntil(() => later.of('gone').at(-1)!.reason !== reading.of('gone')[0]!.reason)
    assert.equal(later.of('gone').at(-1)!.reason, 'it is no longer a node of the cluster')
  })

  test('that comes back begins with its history, before which it has no ticks', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    let isBack = false
    const peer = await all.peer('peer', (response) => {
      if (isBack) beginning(response, 'peer')
      response.write(tickOf('peer'))
      if (!isBack) setImmediate(() => response.destroy())
    })
    const reading = await a.read()
    await all.passUntil(() => peer.asked.length > 2)
    assert.ok(reading.of('peer').every(({ type }) => type === 'away'))
    isBack = true
    await all.passUntil(() => reading.of('peer').some(({ type }) => type === 'tick'))
    assert.deepEqual(
      reading.of('peer').map(({ type }) => type),
      ['away', 'history', 'tick'],
    )
  })

  test('is asked while a reader is there, once for all readers of one access and the same names', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const peer = await all.peer('peer', (response, query) => {
      beginning(response, 'peer')
      if (query.includes('ticks=0')) response.end()
    })
    await all.clock.pass(5000)
    assert.deepEqual(peer.asked, [])
    const first = await a.read('?generators=x,y')
    await all.passUntil(() => first.of('peer').length > 0)
    const second = await a.read('?generators=y,x')
    await all.passUntil(() => second.of('peer').length > 0)
    const other = await a.read()
    await all.passUntil(() => other.of('peer').length > 0)
    assert.deepEqual(peer.asked, [
      'nodes=this&generators=x%2Cy',
      'nodes=this&generators=x%2Cy&ticks=0',
      'nodes=this',
    ])
    assert.equal(first.of('peer').length, 1)
    await until(() => peer.open.size === 2)
    for (const response of peer.open) response.write(tickOf('peer'))
    await until(() => [first, second, other].every((each) => each.of('peer').length === 2))
    first.close()
    other.close()
    await until(() => peer.open.size === 1)
    second.close()
    await until(() => peer.open.size === 0)
    await all.clock.pass(1000)
    const before = all.clock.timers
    await all.clock.pass(5000)
    assert.deepEqual([peer.asked.length, before - all.clock.timers], [3, 0])
  })

  test('that sends more than a reader reads does not make this node keep it, and holds back no line of others', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const peer = await all.peer('peer', (response) => beginning(response, 'peer'))
    const reading = await a.read()
    await all.passUntil(() => reading.of('peer').length > 0)
    reading.answer.pause()
    reading.sent.socket!.pause()
    const [response] = peer.open
    const sent = 60
    const filler = 'x'.repeat(2 ** 20)
    for (let each = 1; each <= sent; each++) {
      const line = lineOf({ type: 'tick', node: 'peer', issued: each, filler })
      await new Promise<void>((resolve) => response!.write(line, () => resolve()))
      await all.clock.pass(100)
    }
    const ticks = () => reading.of('peer').filter(({ type }) => type === 'tick')
    reading.sent.socket!.resume()
    reading.answer.resume()
    await until(() => ticks().at(-1)?.issued === sent)
    assert.ok(ticks().length < sent / 2, `${ticks().length}`)
    const before = reading.of('a').length
    await all.passUntil(() => reading.of('a').length > before)
  })
})

describe('peers', () => {
  for (const [what, answer, asked] of [
    [
      'that refuses is asked again after ten seconds',
      (response: ServerResponse) => response.writeHead(429).end(),
      [0, 10, 20, 30],
    ],
    [
      'that fails is asked again after pauses that grow',
      (response: ServerResponse) => response.destroy(),
      [0, 1, 3, 7, 15, 25],
    ],
  ] as const)
    test(`one ${what}`, async (t) => {
      const all = new Installation(t)
      const a = await all.node('a')
      const startUs = all.clock.monoUs()
      const at: number[] = []
      const peer = await all.peer('peer', (response) => {
        at.push((all.clock.monoUs() - startUs) / 1_000_000)
        answer(response)
      })
      const reading = await a.read()
      await all.passUntil(() => reading.of('a').length > 32, 40)
      assert.deepEqual(at.slice(0, asked.length), asked)
      assert.equal(peer.open.size, 0)
    })

  test('are told to be away to a later reader that gets no history of theirs, and asked for it again', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    let isFull = true
    const peer = await all.peer('peer', (response, query) => {
      const isLate = query.includes('ticks=0')
      if (isLate && isFull) response.writeHead(429).end()
      else beginning(response, 'peer')
      if (isLate) response.end()
    })
    const first = await a.read()
    await all.passUntil(() => first.of('peer').length > 0)
    const [later, once] = [await a.read(), await a.read('?ticks=1')]
    await all.passUntil(() => once.isOver, 4)
    assert.deepEqual(
      later.of('peer').map(({ reason }) => reason),
      ['it has no room for more streams'],
    )
    isFull = false
    const keepUp = () => {
      for (const response of peer.open) response.write(tickOf('peer'))
    }
    await all.passUntil(() => {
      keepUp()
      return later.of('peer').some(({ type }) => type === 'history')
    })
  })

  test('have lines of which this node reads the head alone', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    await all.peer('peer', (response) => {
      response.writeHead(200)
      response.write(historyOf('peer').replace('{}', '{"order":[1]}'))
    })
    const parse = t.mock.method(JSON, 'parse')
    const reading = await a.read()
    await all.passUntil(() => reading.of('peer').length > 0)
    const whole = parse.mock.calls.filter(({ arguments: [text] }) => text.includes('"order"'))
    assert.equal(whole.length, 1, 'the client reads it')
  })

  test('are asked for histories over one connection', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const peer = await all.peer('peer', (response, query) => {
      beginning(response, 'peer')
      if (query.includes('ticks=0')) response.end()
    })
    let connections = 0
    peer.server.on('connection', () => connections++)
    const first = await a.read()
    await all.passUntil(() => first.of('peer').length > 0)
    for (let round = 0; round < 3; round++) {
      const histories = await a.read('?ticks=0')
      await until(() => histories.isOver && peer.open.size === 1)
    }
    assert.deepEqual([peer.asked.length, connections], [4, 2])
  })

  test('are not asked for a reader that has ended with what it was told', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const dialled: number[] = []
    const dial = (address: Address) => {
      dialled.push(address.port)
      return dialPlain(address)
    }
    const streams = new PeerStreams({ cluster: a.cluster, dial, proving: a.access, clock: all.clock })
    const access = await a.access.login('default', '', '127.0.0.1', 'http').catch(() => a.access.initial)
    for (const change of [
      () => all.members.splice(1, 1, { id: 'gone', http: undefined }, { id: 'late', http: '127.0.0.1:2' }),
      () => all.members.splice(1, 2, { id: 'other', http: '127.0.0.1:3' }),
    ]) {
      all.members.splice(1, 9, { id: 'first', http: undefined })
      let lines = 0
      const followed = streams.follow({
        access,
        names: [],
        client: '127.0.0.1',
        take: () => {
          lines++
          if (lines > 1) followed.end()
        },
      })
      assert.equal(lines, 1)
      change()
      await all.clock.pass(1000)
      assert.deepEqual([lines, dialled], [2, []])
    }
  })

  test('have the state of the cluster read once in a second, whatever is read', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const { status } = a.cluster
    let reads = 0
    a.cluster.status = () => {
      reads++
      return status()
    }
    const readings = await Promise.all(['', '?generators=x', '?generators=y'].map((query) => a.read(query)))
    const before = reads
    await all.passUntil(() => readings.every((reading) => reading.lines.length > 4))
    // The events read it too.
    const seconds = readings[0]!.lines.length - 1
    assert.ok(reads - before <= 2 * (seconds + 1), `${reads - before} in ${seconds} s`)
  })

  test('whose history a reader does not read for ten seconds are not kept for it', async (t) => {
    const all = new Installation(t)
    const a = await all.node('a')
    const filler = 'x'.repeat(3 * 2 ** 20)
    const ids = Array.from({ length: 8 }, (_, index) => `p${index}`)
    const peers = await Promise.all(
      ids.map((id) =>
        all.peer(id, (response) => {
          response.writeHead(200)
          response.write(lineOf({ type: 'history', node: id, issued: [1], filler }))
        }),
      ),
    )
    const sent = send({ port: a.server.port, path: '/v1/live', agent: false })
    sent.on('error', () => {})
    sent.end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    answer.on('error', () => {})
    answer.pause()
    sent.socket!.pause()
    t.after(() => sent.destroy())
    await until(() => peers.every(({ open }) => open.size === 1))
    const keepUp = () => {
      for (const [index, { open }] of peers.entries())
        for (const response of open) response.write(tickOf(ids[index]!))
    }
    for (let second = 0; second < 9; second++) {
      keepUp()
      for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
      await all.clock.pass(1000)
    }
    assert.ok(peers.every(({ open }) => open.size === 1))
    for (let second = 0; second < 3; second++) {
      await all.clock.pass(1000)
      for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    await until(() => peers.every(({ open }) => open.size === 0))
  })
})

describe('streams for other nodes', () => {
  test('are bounded for each user by the number of nodes', async (t) => {
    const all = new Installation(t)
    const users = {
      root: ['on', '>secret', '~*', '+@all'],
      narrow: ['on', '>secret', '~shop.*', '+http|live'],
    } as const
    const [a, b] = [await all.node('a', users), await all.node('b')]
    const ask = async (user: string) => {
      const path = '/v1/live?nodes=this'
      const of = { method: 'GET', path, contentType: undefined, body: '', client: '127.0.0.1', user }
      const headers = provenHeaders(of, 'b', a.access)
      const sent = send({ port: b.server.port, path, headers, agent: false })
      t.after(() => sent.destroy())
      sent.on('error', () => {})
      sent.end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return answer.statusCode
    }
    for (let each = 0; each < 16; each++) assert.equal(await ask('narrow'), 200)
    assert.deepEqual([await ask('narrow'), await ask('root')], [429, 200])
  })
})

describe('a reader of all nodes', () => {
  const users = {
    root: ['on', '>secret', '~*', '+@all'],
    narrow: ['on', '>secret', '~shop.*', '+http|live'],
  } as const

  async function two(t: TestContext) {
    const all = new Installation(t)
    const a = await all.node('a', users)
    const b = await all.node('b')
    b.add('shop.a', 5n)
    b.add('secret', 1000n)
    await all.pass(3)
    return { all, a, b }
  }

  test('is told by each what its own patterns reach', async (t) => {
    const { all, a } = await two(t)
    const reading = await a.read('?generators=secret', basic('narrow', 'secret'))
    all.members.push({ id: 'gone', http: '127.0.0.1:1' })
    await all.passUntil(() => reading.of('b').length > 2 && reading.of('gone').length > 0)
    assert.deepEqual(Object.keys(reading.of('b').at(-1)!.generators), ['shop.a'])
    assert.equal(reading.of('gone')[0]!.reason, 'it is away')
    assert.equal(reading.of('b').at(-1)!.issued, 5)
    const whole = await a.read('?generators=secret', basic('root', 'secret'))
    await all.passUntil(() => whole.of('b').length > 2)
    assert.deepEqual(Object.keys(whole.of('b').at(-1)!.generators).sort(), ['secret', 'shop.a'])
  })

  test('with a token is told by each what the token reaches', async (t) => {
    const { all, a } = await two(t)
    const create = { user: 'root', label: 'narrow', lifetimeMs: undefined, by: 'root', patterns: ['shop.*'] }
    const { text, token } = await a.access.tokens.create(create)
    const reading = await a.read('', `Bearer ${text}`)
    await all.passUntil(() => reading.of('b').some(({ type }) => type === 'tick'))
    const told = reading.of('b').filter(({ type }) => type !== 'away')
    assert.ok(told.every(({ generators }) => Object.keys(generators).join() === 'shop.a'))
    assert.doesNotMatch(JSON.stringify(told), /secret|1005/)
    await a.access.tokens.revoke(token.id)
    await until(() => reading.isOver)
  })

  test('is told nothing more once its user is off, and nothing is asked for it', async (t) => {
    const { all, a } = await two(t)
    const peer = await all.peer('peer', (response) => beginning(response, 'peer'))
    const reading = await a.read('', basic('narrow', 'secret'))
    await all.passUntil(() => reading.of('b').length > 1 && reading.of('peer').length > 0)
    await setUser(a.access, 'narrow', 'off')
    await until(() => reading.isOver && peer.open.size === 0)
  })

  test('does not name the token of another by itself', async (t) => {
    const { a } = await two(t)
    const url = `http://127.0.0.1:${a.server.port}/v1/live?token-id=x`
    const answer = await fetch(url, { headers: { authorization: basic('narrow', 'secret') } })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /only nodes send 'token-id'/)
  })
})
