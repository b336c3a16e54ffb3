/**
 * `GET /v1/live`: what a node does now and did in the last hour, as lines of JSON without end.
 *
 * Invariants
 *  1. A line tells nothing of a name that the permissions of its reader do not reach, and no sums in which such names are.
 *  2. A stream ends when anything about its reader's user or token changes, at the latest with the next tick.
 *  3. Of a stream whose client does not read, one tick or one part of the history waits at most. Ticks are totals, so one that is
 *     left out is in the next.
 *  4. Streams are bounded: of a user, of a network and altogether.
 */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../auth/access.ts'
import { networkOf } from '../../base/address.ts'
import { turns } from '../../listening/turns.ts'
import { type History, keptMax } from '../../metrics/history.ts'
import { stepSeconds } from '../../metrics/steps.ts'
import type { FahaoNode } from '../../node/node.ts'
import { wholeNumberSchema } from '../../operations/argument.ts'
import { livePermission } from '../../operations/permissions.ts'
import { type ApiRoute, readQuery } from '../api-route.ts'
import { connectionOf, type HttpResponse } from '../connection.ts'
import { HttpRefusal } from '../problem.ts'

const [ofUserMax, ofNetworkMax, streamsMax] = [8, 16, 100]
/** How many names a stream can ask for: all streams together ask for no more than are kept. */
const askedMax = 10
/** The history is written in parts of about this many bytes. */
const partBytes = 32_768

const query = z.strictObject({
  generators: z
    .string()
    .max(askedMax * 257)
    .transform((text) => [...new Set(text.split(','))].filter((name) => name !== ''))
    .refine((names) => names.length <= askedMax, `names at most ${askedMax} generators`)
    .optional()
    .meta({
      description: `the names of up to ${askedMax} generators that are told whether or not they are busy`,
    }),
  ticks: wholeNumberSchema(
    0,
    86_400,
    'how many ticks the stream has (default: it does not end); 0: the history alone',
  ).optional(),
})

const shownLines = [
  {
    type: 'history',
    stepSeconds: 10,
    endMs: 1793491160000,
    issued: [120],
    errors: {},
    generators: { order: [120] },
  },
  {
    type: 'tick',
    atMs: 1793491161000,
    node: '4c8daeed57ba193b4d94df49ccbd7191b9b3cb86',
    state: 'ok',
    issued: 132,
    errors: {},
    generators: { order: { issued: 132, buffered: 868, bufferedSeconds: 72, refills: 1, waits: 1 } },
  },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('')

type Reader = { readonly access: Access; readonly asked: readonly string[]; readonly ticks: number }

/** `GET /v1/live`, and what ends all streams. */
export function liveRoute(history: History, node: FahaoNode): { readonly route: ApiRoute; end(): void } {
  const open = new Map<LiveStream, readonly [user: string, network: string]>()
  node.access.listen(() => {
    for (const stream of open.keys()) stream.endIfChanged()
  })
  let isEnding = false
  const admit = ({ access, headers, raw }: FastifyRequest): readonly [string, string] => {
    if (isEnding) throw new HttpRefusal(503, 'this node is stopping; ask another one', { 'retry-after': '1' })
    const network = networkOf(raw.socket.remoteAddress ?? '')
    // Where no login is needed, all callers are one user.
    const user = headers.authorization === undefined && access === node.access.initial ? '' : access.user
    const of = [...open.values()]
    const isFull =
      of.length >= streamsMax ||
      of.filter((each) => each[1] === network).length >= ofNetworkMax ||
      (user !== '' && of.filter((each) => each[0] === user).length >= ofUserMax)
    if (isFull)
      throw new HttpRefusal(
        429,
        `too many streams are open: ${ofUserMax} of a user, ${ofNetworkMax} of an address and ${streamsMax} of a node; close one first`,
        { 'retry-after': '5' },
      )
    return [user, network]
  }
  const route: ApiRoute = {
    id: 'live',
    method: 'GET',
    path: '/v1/live',
    tag: 'server',
    command: livePermission,
    summary:
      'What this node does, once a second until the client closes, after what it did in the last hour.',
    notes:
      'Lines of JSON. The first has what was issued in each step of ten seconds, newest last, by all generators together, by the busiest and by those that are asked for, and the errors by code. Each other line has totals since the node’s start. A user that may not name every generator gets the sum of those that it may name, and no errors.',
    query,
    answers: {
      200: {
        description: 'The stream.',
        content: { 'application/x-ndjson': z.string().meta({ examples: [shownLines] }) },
      },
    },
    errors: ['ERR'],
    example: { query: 'generators=order&ticks=2' },
    async handler(request, reply) {
      const { generators = [], ticks = Number.POSITIVE_INFINITY } = readQuery(query, request)
      // A proxy passes each line on at once.
      reply.headers({ 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' })
      if (request.method === 'HEAD') return ''
      const place = admit(request)
      const stream = new LiveStream(history, node, { access: request.access, asked: generators, ticks })
      open.set(stream, place)
      stream.once('close', () => open.delete(stream))
      if (connectionOf(request.raw) !== undefined) (reply.raw as HttpResponse).receivedUs = undefined
      return stream
    },
  }
  const end = () => {
    isEnding = true
    for (const stream of open.keys()) stream.finish()
  }
  return { route, end }
}

/** The lines of one reader. */
class LiveStream extends Readable {
  readonly #history: History
  readonly #node: FahaoNode
  readonly #reader: Reader
  readonly #parts: Iterator<string>
  readonly #unfollow: () => void
  #isHistoryOver = false
  /** Whether all that was pushed has gone to the socket, which has room. */
  #isWanted = false
  #ticks = 0
  /** Whether the reader may name a generator, by name. */
  readonly #reached = new Map<string, boolean>()
  /** Of a reader that may not name every generator: what those had issued that it was told of, and their sum. */
  #seen: Map<string, number> | undefined
  #sum = 0

  constructor(history: History, node: FahaoNode, reader: Reader) {
    super({ objectMode: true, highWaterMark: 0 })
    this.#history = history
    this.#node = node
    this.#reader = reader
    const asked = reader.asked.filter((name) => this.#reaches(name))
    this.#unfollow = history.follow(asked, () => this.#tick())
    this.#parts = this.#historyParts(history.step)
  }

  override _read(): void {
    this.#isWanted = true
    if (this.#isHistoryOver) return
    if (turns.over) turns.wait(this, false)
    else this.takeTurn()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#unfollow()
    callback(error)
  }

  /** Pushes the next part of the history. */
  takeTurn(): void {
    if (this.destroyed || this.#isHistoryOver) return
    let part = ''
    do {
      const { done, value } = this.#parts.next()
      if (done) this.#isHistoryOver = true
      else part += value
    } while (part.length < partBytes && !this.#isHistoryOver && !turns.over)
    turns.spend(2 * part.length)
    if (part !== '') {
      this.#isWanted = false
      this.push(part)
    } else if (!this.#isHistoryOver) turns.wait(this, false)
    if (this.#isHistoryOver && this.#reader.ticks === 0) this.finish()
  }

  /** Ends the stream behind what was pushed. */
  finish(): void {
    this.#unfollow()
    this.#isHistoryOver = true
    this.push(null)
  }

  /** Ends the stream if its reader's user or token is not what it was. Returns whether it does. */
  endIfChanged(): boolean {
    try {
      if (this.#node.access.unchanged(this.#reader.access) !== undefined) return false
    } catch {
      // The users have not been known for too long.
    }
    // What a client has not read is not kept for it.
    if (this.#isWanted) this.finish()
    else this.destroy()
    return true
  }

  #tick(): void {
    if (this.endIfChanged() || !this.#isHistoryOver || !this.#isWanted) return
    this.#isWanted = false
    this.push(this.#tickLine())
    if (++this.#ticks >= this.#reader.ticks) this.finish()
  }

  /** The names of the busiest and of those that are asked for, as far as they are kept. The reader may not be told of all of them. */
  get #names(): string[] {
    const names = new Set([...this.#history.busiest, ...this.#reader.asked])
    return [...names].filter((name) => this.#history.textOf(name) !== undefined)
  }

  #reaches(name: string): boolean {
    const { access } = this.#reader
    if (access.reachesAll) return true
    const known = this.#reached.get(name)
    if (known !== undefined) return known
    turns.spend(access.work)
    if (this.#reached.size >= keptMax) this.#reached.clear()
    const reaches = access.reaches(name)
    this.#reached.set(name, reaches)
    return reaches
  }

  *#historyParts(step: number): Generator<string, void> {
    const history = this.#history
    const names: string[] = []
    for (const name of this.#names) {
      if (this.#reaches(name)) names.push(name)
      yield ''
    }
    const isWhole = this.#reader.access.reachesAll
    const issued = isWhole ? history.steps(step) : sumOf(names.map((name) => history.steps(step, name)))
    const errors = isWhole ? history.errorSteps(step) : {}
    const endMs = (step + 1) * stepSeconds * 1000
    yield openObject({ type: 'history', stepSeconds, endMs, issued, errors })
    for (const [index, name] of names.entries())
      yield `${index === 0 ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(history.steps(step, name))}`
    yield '}}\n'
  }

  #tickLine(): string {
    const { timeline, server } = this.#node
    const history = this.#history
    const { state, reason } = this.#node.health()
    const isWhole = this.#reader.access.reachesAll
    // Of a name that has become busy in a full turn, a later line tells.
    const mayTell = (name: string) => (this.#reached.has(name) || !turns.over) && this.#reaches(name)
    const names = isWhole ? this.#names : this.#names.filter(mayTell)
    if (!isWhole) this.#add(names)
    const head = openObject({
      type: 'tick',
      atMs: Math.floor(timeline.nowUs() / 1000),
      node: server.cluster?.nodeId ?? server.runId,
      state,
      reason,
      issued: isWhole ? history.issued : this.#sum,
      errors: isWhole ? history.errors : {},
    })
    return `${head}${names.map((name) => history.textOf(name)).join(',')}}}\n`
  }

  /** Adds up what these have issued. One that is told of later counts from then on, so that the sum never falls. */
  #add(names: readonly string[]): void {
    const before = this.#seen
    this.#seen = new Map(names.map((name) => [name, this.#history.issuedBy(name) ?? 0]))
    for (const [name, issued] of this.#seen)
      this.#sum += issued - (before === undefined ? 0 : (before.get(name) ?? issued))
  }
}

/** The members of an object in JSON, whose last one is `generators`, up to its first member. */
function openObject(members: object): string {
  return `${JSON.stringify(members).slice(0, -1)},"generators":{`
}

/** The sums of rows that end with the same step. */
function sumOf(rows: readonly (readonly number[])[]): number[] {
  const sums: number[] = []
  for (const row of rows)
    for (const [index, count] of row.toReversed().entries()) sums[index] = (sums[index] ?? 0) + count
  return sums.reverse()
}
