/** A server without transport, for asking commands as a connection would. */
import assert from 'node:assert/strict'
import { systemClock } from '../../../src/base/clock.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Timeline } from '../../../src/base/timeline.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { Reply } from '../../../src/commands/command.ts'
import {
  Issued,
  IssuedRuns,
  MapReply,
  SetReply,
  SimpleString,
  VerbatimText,
} from '../../../src/commands/command.ts'
import type { ClientSession, InfoSection, ServerView } from '../../../src/commands/context.ts'
import { TransactionQueue } from '../../../src/commands/transaction-queue.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { turns } from '../../../src/listening/turns.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { IssuedTexts } from '../../../src/operations/issued-texts.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { Trail } from '../audit/trail.ts'
import { openAccess } from '../auth/open-access.ts'
import { FakeCatalogue } from '../catalogue/fake-catalogue.ts'
import { leasingOf } from '../leasing/leasing.ts'

/** Users of a store of its own, shared by the desks of a file. */
const access = await openAccess()

/** A session with everything writable, so that tests can set the scene. */
export type TestSession = { -readonly [Name in keyof ClientSession]: ClientSession[Name] } & {
  closed: boolean
}

/** Commands, a catalogue, a server and one session. */
export class Desk {
  readonly catalogue = new FakeCatalogue()
  readonly table = createCommands()
  readonly timeline = new Timeline(systemClock)
  /** Opened by the tests that need it. */
  readonly namespaces = new Namespaces(new MemoryEngine(new MemoryStore()))
  readonly meters = new Meters(this.namespaces, () => this.timeline.nowUs())
  readonly #leasing = leasingOf(this.timeline, this.catalogue, { all: () => [] })
  readonly pools = this.#leasing.pools
  readonly rangeLeases = this.#leasing.rangeLeases
  readonly workerLeases = this.#leasing.workerLeases
  readonly workerIds = this.#leasing.workerIds
  readonly trail = new Trail()
  readonly sessions: TestSession[] = []
  readonly session: TestSession = this.connect()
  sections: InfoSection[] = []
  respPort: number | undefined = 7379
  cluster: ClusterView | undefined

  constructor(generators: Readonly<Record<string, GeneratorInput>> = {}) {
    for (const [name, input] of Object.entries(generators)) this.catalogue.add(name, input)
  }

  /** Another connection. */
  connect(): TestSession {
    const id = this.sessions.length + 1
    const session: TestSession = {
      id,
      address: `127.0.0.1:${50_000 + id}`,
      localAddress: '127.0.0.1:7379',
      door: 'resp',
      startedMonoUs: this.timeline.monoUs(),
      lastCommandMonoUs: this.timeline.monoUs(),
      lastCommand: '',
      name: '',
      libraryName: '',
      libraryVersion: '',
      trackingModes: undefined,
      transaction: new TransactionQueue({ transactionMaxBytes: 1000, transactionRequestsMax: 10 }),
      protocol: 2,
      exact: true,
      certificateName: undefined,
      access: access.initial,
      unreadBytes: 0,
      signal: new AbortController().signal,
      closed: false,
      close() {
        session.closed = true
      },
    }
    this.sessions.push(session)
    return session
  }

  /** The server as commands see it. */
  get server(): ServerView {
    return {
      version: '0.1.0',
      runId: 'f'.repeat(40),
      timeline: this.timeline,
      startedMonoUs: this.timeline.monoUs() - 90_000_000_000,
      turns,
      respPort: this.respPort,
      countMax: 100,
      incrByMax: 1_000_000n,
      settings: () => [
        ['engine', 'memory:'],
        ['lease-ttl', '3s'],
      ],
      info: () => this.sections,
      traffic: () => ({
        connectionsTotal: 3,
        connectionsRejected: 1,
        commands: 42,
        bytesIn: 1000,
        bytesOut: 2000,
      }),
      sessions: () => this.sessions,
      meters: this.meters,
      pools: this.pools,
      workerLeases: this.workerLeases,
      workerIds: this.workerIds,
      rangeLeases: this.rangeLeases,
      audit: this.trail.audit,
      access,
      engine: this.trail.engine,
      advance: async () => 0,
      cluster: this.cluster,
    }
  }

  /** What a handler gets. */
  get context() {
    return { session: this.session, catalogue: this.catalogue, server: this.server }
  }

  /** Asks as a client would: with one line of words, or with words, which may be bytes. */
  async raw(...words: (string | Uint8Array)[]): Promise<Reply> {
    const [line] = words
    const split = words.length === 1 && typeof line === 'string' ? line.split(' ') : words
    const bytes = split.map((word) => (typeof word === 'string' ? Buffer.from(word) : word))
    const { command, args } = this.table.resolve(bytes)
    return command.handler!(this.context, args)
  }

  /** The reply as plain data: what a RESP3 client would make of it. */
  async ask(...words: (string | Uint8Array)[]): Promise<unknown> {
    return plain(await this.raw(...words))
  }

  /** The error line that a request is answered with: `-CODE message` without the dash. */
  async error(...words: (string | Uint8Array)[]): Promise<string> {
    try {
      const reply = await this.ask(...words)
      return assert.fail(
        `expected an error, got ${JSON.stringify(reply, (_, it) => (typeof it === 'bigint' ? String(it) : it))}`,
      )
    } catch (error) {
      if (!(error instanceof FahaoError)) throw error
      assert.doesNotMatch(error.message, /[\r\n]/, 'an error is one line')
      return `${error.code} ${error.message}`
    }
  }

  /** Checks a table of bad requests: each gets its exact error, and no id is used up by any. */
  async refuses(
    cases: readonly (readonly [line: string | readonly (string | Uint8Array)[], error: string])[],
  ) {
    const before = this.catalogue.drawn
    for (const [line, expected] of cases) assert.equal(await this.error(...[line].flat()), expected)
    assert.equal(this.catalogue.drawn, before, 'a refused request uses up no id')
  }
}

function plain(reply: Reply): unknown {
  if (reply instanceof Issued) return reply.id
  if (reply instanceof IssuedTexts) return Array.from({ length: reply.count }, (_, index) => reply.at(index))
  if (reply instanceof IssuedRuns)
    return reply.runs.map((run) => [`${run.first}`, `${run.stride}`, run.count])
  if (reply instanceof SimpleString || reply instanceof VerbatimText) return reply.text
  if (reply instanceof MapReply) {
    return Object.fromEntries(reply.entries.map(([name, value]) => [String(plain(name)), plain(value)]))
  }
  if (reply instanceof SetReply) return reply.items.map(plain)
  if (reply instanceof Uint8Array) return Buffer.from(reply).toString()
  if (Array.isArray(reply)) return reply.map(plain)
  return reply
}
