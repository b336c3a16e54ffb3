/**
 * `GET /v1/live`: what all nodes do now and did in the last hour, as lines of JSON without end.
 *
 * Invariants
 *  1. Streams are bounded: of a user, of a network and altogether. Those that other nodes ask for have bounds of their own.
 *  2. A stream counts for `countedUs` at least, so that as many are opened in that time as may be open.
 *  3. A stream that another node asks for has the lines of this node alone, for the user and the token of its reader.
 */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../auth/access.ts'
import type { AccessControl } from '../../auth/access-control.ts'
import { networkOf } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { History } from '../../metrics/history.ts'
import type { NodeEvents } from '../../metrics/node-events.ts'
import type { FahaoNode } from '../../node/node.ts'
import { wholeNumberSchema } from '../../operations/argument.ts'
import { livePermission } from '../../operations/permissions.ts'
import { type ApiRoute, readQuery } from '../api-route.ts'
import { connectionOf, type HttpResponse } from '../connection.ts'
import { HttpRefusal } from '../problem.ts'
import { LiveStream } from './live-stream.ts'
import type { PeerReader, PeerStreams } from './peer-streams.ts'

const [ofUserMax, ofNetworkMax, streamsMax, forNodesMax] = [8, 16, 100, 200]
const countedUs = 1_000_000
/** How many names a stream can ask for: all streams together ask for no more than are kept. */
const askedMax = 10

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
    'how many ticks of the node that is asked the stream has (default: it does not end); 0: the histories alone',
  ).optional(),
  nodes: z.enum(['all', 'this']).optional().meta({
    description: 'which nodes of a cluster are told of: all, which is the default, or the one that is asked',
  }),
  'token-id': z.string().optional().meta({
    description: 'the id of the reader’s token where a node asks another one; of no use to others',
  }),
})

const shownNode = '4c8daeed57ba193b4d94df49ccbd7191b9b3cb86'
const shownLines = [
  {
    type: 'history',
    node: shownNode,
    process: '6f1c2d0a9e3b4857a1d2c3b4e5f60718',
    stepSeconds: 10,
    endMs: 1793491160000,
    issued: [120],
    errors: {},
    events: [{ atMs: 1793491150000, node: shownNode, kind: 'health', state: 'ok' }],
    generators: { order: [120] },
  },
  {
    type: 'tick',
    atMs: 1793491161000,
    node: shownNode,
    state: 'ok',
    issued: 132,
    errors: {},
    version: '0.1.0',
    cpuSeconds: 4.1,
    memoryBytes: 91_226_112,
    generators: {
      order: {
        issued: 132,
        buffered: 868,
        bufferedSeconds: 72,
        refills: 1,
        waits: 1,
        kind: 'segment',
        waiting: 0,
        left: 9867,
        endsSeconds: 822,
        perSecond: 12,
        callersPerSecond: 0,
      },
    },
  },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('')

/** Where a stream counts. `network`: undefined if another node has asked for it. */
type Place = { readonly user: string; readonly network: string | undefined }

/** `GET /v1/live`, and what ends all streams. `peers`: undefined without a cluster. */
export function liveRoute(
  history: History,
  events: NodeEvents,
  node: FahaoNode,
  peers: PeerStreams | undefined,
  clock: Clock,
): { readonly route: ApiRoute; end(): void } {
  const open = new Set<LiveStream>()
  const places = new Set<Place>()
  node.access.listen(() => {
    for (const stream of open) stream.endIfChanged()
  })
  let isEnding = false
  const admit = ({ access, headers, raw }: FastifyRequest): Place => {
    if (isEnding) throw new HttpRefusal(503, 'this node is stopping; ask another one', { 'retry-after': '1' })
    const { isForwarded } = access
    const of = [...places].filter((each) => (each.network === undefined) === isForwarded)
    // Where no login is needed, all callers are one user.
    const isAnyone = isForwarded
      ? access.user === node.access.users.initial?.user
      : headers.authorization === undefined && access === node.access.initial
    const user = isAnyone ? '' : access.user
    const ofUser = user === '' ? 0 : of.filter((each) => each.user === user).length
    if (isForwarded) {
      const most = ofUserMax * (node.server.cluster?.status().nodes.length ?? 1)
      if (of.length < forNodesMax && ofUser < most) return { user, network: undefined }
      const detail = `other nodes have too many streams open here: ${most} of a user and ${forNodesMax} altogether; close one first`
      throw new HttpRefusal(429, detail)
    }
    const network = networkOf(raw.socket.remoteAddress ?? '')
    const isFull =
      of.length >= streamsMax ||
      of.filter((each) => each.network === network).length >= ofNetworkMax ||
      ofUser >= ofUserMax
    if (isFull)
      throw new HttpRefusal(
        429,
        `too many streams are open: ${ofUserMax} of a user, ${ofNetworkMax} of an address and ${streamsMax} of a node; close one first`,
        { 'retry-after': '5' },
      )
    return { user, network }
  }
  const route: ApiRoute = {
    id: 'live',
    method: 'GET',
    path: '/v1/live',
    tag: 'server',
    command: livePermission,
    summary:
      'What each node does, once a second until the client closes, after what it did in the last hour.',
    notes:
      'Lines of JSON, each of one node. The first of a node has what was issued in each step of ten seconds, newest last, by all generators together, by the busiest and by those that are asked for, and the errors by code. Each other line has totals since the node’s start, or says that a node is away. A user that may not name every generator gets the sum of those that it may name, and no errors.',
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
      const { generators = [], ticks = Number.POSITIVE_INFINITY, nodes, ...of } = readQuery(query, request)
      const access = readerOf(request, node.access, of['token-id'])
      // A proxy passes each line on at once.
      reply.headers({ 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' })
      if (request.method === 'HEAD') return ''
      const place = admit(request)
      const client = request.ip
      const isOfAll = peers !== undefined && nodes !== 'this'
      const follow = isOfAll
        ? (take: PeerReader['take']) => peers.follow({ access, names: generators, client, take })
        : undefined
      const stream = new LiveStream(history, events, node, { access, asked: generators, ticks, follow })
      open.add(stream)
      places.add(place)
      const untilUs = clock.monoUs() + countedUs
      stream.once('close', () => {
        open.delete(stream)
        const restMs = (untilUs - clock.monoUs()) / 1000
        if (restMs > 0) clock.timer(restMs, () => places.delete(place))
        else places.delete(place)
      })
      if (connectionOf(request.raw) !== undefined) (reply.raw as HttpResponse).receivedUs = undefined
      return stream
    },
  }
  const end = () => {
    isEnding = true
    for (const stream of open) stream.finish()
  }
  return { route, end }
}

/** Who reads: the sender, or the reader that another node asks for, with the rules of its token. */
function readerOf({ access }: FastifyRequest, control: AccessControl, tokenId: string | undefined): Access {
  if (tokenId === undefined) return access
  if (!access.isForwarded)
    throw new FahaoError('ERR', "only nodes send 'token-id'; send the token as Authorization: Bearer")
  const ofToken = control.tokens.access(tokenId)
  if (ofToken?.user !== access.user || !ofToken.allows(livePermission))
    throw new FahaoError('WRONGPASS', 'the token of the reader is unknown, expired or revoked')
  return ofToken
}
