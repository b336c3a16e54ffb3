/** Namespaces: set, drop, show, list. */
import { z } from 'zod'
import { type Access, everything } from '../auth/access.ts'
import { namespaceOptions, optionWords } from '../quotas/namespace.ts'
import type { Quota } from '../quotas/quotas.ts'
import { optional, text } from './argument.ts'
import type { OperationContext } from './context.ts'
import { operation } from './operation.ts'

const path = '/v1/namespaces/{name}'
const writeErrors = ['ERR', 'CONFLICT', 'LIMIT', 'UNAVAILABLE', 'UNKNOWN'] as const
const administration = { permission: 'admin', effect: 'write' } as const
const reading = { permission: 'read', effect: 'readonly' } as const
const fields =
  'name, match, owner, user, idsPerSecond, idsPerDay, generators, leases, waiting (the limits that are set)'
const figures = 'issued, refused, waitingNow, shareOfDay'

const shape = z
  .object({
    name: z.string(),
    ...namespaceOptions.shape,
    here: z
      .object({
        issued: z.number(),
        refused: z.number().meta({ description: 'requests' }),
        waiting: z.number().meta({ description: 'requests that wait now' }),
        shareOfDay: z.number().nullable().meta({ description: 'of idsPerDay; null without one' }),
      })
      .meta({ description: 'what the node that was asked has counted' }),
  })
  .meta({ id: 'Namespace' })
const listShape = z.object({ namespaces: z.array(shape) }).meta({ id: 'NamespaceList' })

/** A namespace, as an answer. */
export type NamespaceAnswer = z.output<typeof shape>
/** All namespaces, as an answer. */
export type NamespacesAnswer = z.output<typeof listShape>

const name = text('name')
/** A limit as it is given: `Namespaces.set` reads it. */
const limit = (word: string) => optional({ ...text(`${word} n`), type: 'integer' } as const)
const shop: NamespaceAnswer = {
  name: 'shop',
  match: 'shop:*',
  owner: 'team-a',
  idsPerSecond: 1000,
  here: { issued: 0, refused: 0, waiting: 0, shareOfDay: null },
}
const http = { path, tag: 'namespaces', example: { name: 'shop', answer: shop } } as const
const none = (given: string) =>
  `no namespace '${given.slice(0, 64)}'; fahao namespace list and GET /v1/namespaces show all`

const set = operation({
  ...administration,
  name: 'id.namespace|set',
  change: 'namespace-set',
  summary: 'Creates or replaces a namespace: a pattern of generator names, an owner, quotas.',
  args: {
    name,
    match: { ...text('MATCH pattern'), type: 'pattern', missing: false } as const,
    owner: optional(text('OWNER owner')),
    user: optional(text('USER user')),
    idsPerSecond: limit('RATE'),
    idsPerDay: limit('DAILY'),
    generators: limit('GENERATORS'),
    leases: limit('LEASES'),
    waiting: limit('WAITING'),
  },
  unknown: `after the name come pairs of a word and a value, each word once: ${Object.values(optionWords).join(', ')}`,
  reply: '`OK`.',
  notes:
    'Limits that are left out do not apply. {idsPerSecond}: ids per second, with a burst of one second. {idsPerDay}: ids per UTC day. {generators}: how many generators may match. {leases}: how many worker ids callers may hold of generators and pools that match; claims on different nodes within one second can exceed it; 0 permits none, and is the default for generators where {idsPerSecond} or {idsPerDay} is set, because ids of worker leases are not counted. {waiting}: how many requests may wait for ids. {user}: only requests of this user are counted. In force on every node within a second; all but {generators} and {leases} are counted by each node.',
  http: {
    ...http,
    id: 'setNamespace',
    method: 'PUT',
    body: namespaceOptions,
    answer: ['The namespace.', shape],
    errors: writeErrors,
    example: { ...http.example, body: { match: 'shop:*', owner: 'team-a', idsPerSecond: 1000 } },
    none,
  },
  async run(context, { name, ...options }) {
    await context.server.meters.namespaces.set(name, options)
    return shown(context, everything, name)
  },
  replied: 'OK',
})

const drop = operation({
  ...administration,
  name: 'id.namespace|drop',
  change: 'namespace-deleted',
  summary: 'Drops a namespace. Generators stay as they are.',
  args: { name },
  reply: '1, or 0 where there was none.',
  http: {
    ...http,
    id: 'dropNamespace',
    method: 'DELETE',
    answer: ['It is gone.'],
    errors: writeErrors,
    none,
  },
  run: ({ server }, { name }) => server.meters.namespaces.drop(name),
})

const show = operation({
  ...reading,
  name: 'id.namespace|get',
  summary: 'Shows a namespace.',
  args: { name },
  reply: `A map: ${fields}, and since this node started ${figures}; nil where there is none.`,
  http: {
    ...http,
    id: 'getNamespace',
    method: 'GET',
    answer: ['The namespace.', shape],
    errors: ['ERR'],
    none,
  },
  run: (context, { name }) => shown(context, context.caller.access, name),
  replied: (found) => found && flat(found),
})

const list = operation({
  ...reading,
  name: 'id.namespace|list',
  summary: 'Shows every namespace.',
  args: {},
  reply: 'An array of maps as `ID.NAMESPACE GET` replies them, in the order of their names.',
  http: {
    id: 'listNamespaces',
    method: 'GET',
    path: '/v1/namespaces',
    tag: 'namespaces',
    answer: ['The namespaces.', listShape],
    errors: [],
    example: { answer: { namespaces: [shop] } },
  },
  async run(context) {
    const { caller, server } = context
    const found = await server.meters.quotas.shownTo(caller.access, server.turns)
    return { namespaces: found.map((quota) => answerOf(quota, context)) }
  },
  replied: ({ namespaces }) => namespaces.map(flat),
})

/** ID.NAMESPACE SET, DROP, GET and LIST. */
export const namespaceOperations = [set, drop, show, list]

function shown(context: OperationContext, access: Access, name: string): NamespaceAnswer | undefined {
  const quota = context.server.meters.quotas.oneShownTo(access, name)
  return quota && answerOf(quota, context)
}

function answerOf(quota: Quota, { server }: OperationContext): NamespaceAnswer {
  const { shareOfDay = null, ...counted } = quota.figures(server.timeline.nowUs())
  return { ...quota.namespace, here: { ...counted, shareOfDay } }
}

/** As Redis's reply has it. */
function flat({ here: { issued, refused, waiting, shareOfDay }, ...namespace }: NamespaceAnswer): object {
  const share = shareOfDay === null ? null : String(shareOfDay)
  return { ...namespace, issued, refused, waitingNow: waiting, shareOfDay: share }
}
