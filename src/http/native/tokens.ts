/** The operations on tokens: create, list, revoke. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../auth/access.ts'
import type { AccessControl } from '../../auth/access-control.ts'
import { readNarrowing, type Token } from '../../auth/token.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Pace } from '../../base/pace.ts'
import { parseDurationMs } from '../../base/units.ts'
import type { FahaoNode } from '../../node/node.ts'
import { demandPermission } from '../caller.ts'
import { jsonAnswer, type Operation, readBody, readQuery, refuseBody } from '../operation.ts'
import { HttpRefusal } from '../problem.ts'

const dayMs = 86_400_000
const lifetimeDefault = '90d'
const [lifetimeMinMs, lifetimeMaxMs] = [1000, 3650 * dayMs]
/** The time to look at a token, as the bytes of a reply that take as long. */
const tokenWork = 48
/** The permission for the tokens of all users. */
const ofAll = 'http|tokens'
const common = { tag: 'users', command: 'http|own-tokens' } as const
const ownNote =
  'A user without the permission `http|tokens` sees and revokes its own tokens only, and a token only itself, unless one of its rules is `+http|own-tokens`.'

const creation = z.strictObject({
  user: z.string().max(256).optional().meta({ description: 'whose token it is; default: the caller' }),
  label: z.string().max(128).optional().meta({ description: 'what it is for' }),
  rules: z.array(z.string().max(1024)).max(256).optional().meta({
    description:
      'narrow it: patterns ~order* and commands +@issue, as rules of users; default: all that the user may do',
  }),
  expires: z
    .string()
    .max(20)
    .optional()
    .meta({
      description: `after how long it expires: from 1s to 3650d, or never (default ${lifetimeDefault})`,
    }),
})

const query = z.strictObject({
  user: z.string().max(256).optional().meta({ description: 'only of this user' }),
})

const shape = z
  .object({
    id: z.string(),
    user: z.string(),
    label: z.string(),
    rules: z.array(z.string()).meta({ description: 'what narrows it; empty: all that the user may do' }),
    created: z.string().meta({ description: 'ISO 8601' }),
    createdBy: z.string(),
    expires: z.string().nullable().meta({ description: 'ISO 8601; null: never' }),
    valid: z.boolean().meta({ description: 'false: it has expired, or its user is off or was removed' }),
  })
  .meta({ id: 'Token' })

const createdShape = z
  .object({ token: z.string().meta({ description: 'the secret, shown this once' }), ...shape.shape })
  .meta({ id: 'CreatedToken' })

const listShape = z.object({ tokens: z.array(shape) }).meta({ id: 'TokenList' })

/** A new token with its secret, as an answer. */
export type CreatedTokenAnswer = z.output<typeof createdShape>
/** Tokens without their secrets, as an answer. */
export type TokensAnswer = z.output<typeof listShape>

/** Everything at `/v1/tokens`. */
export function tokenOperations({ access, server }: Pick<FahaoNode, 'access' | 'server'>): Operation[] {
  return [create(access, server.turns), list(access, server.turns), revoke(access)]
}

function create({ tokens, subjects, passwords }: AccessControl, pace: Pace): Operation {
  return {
    ...common,
    id: 'createToken',
    method: 'POST',
    path: '/v1/tokens',
    summary: 'Creates a token, and shows its secret this once.',
    notes:
      'A token permits what both its user and its rules permit. Every user creates tokens for itself, with its password and not with a token; the permission `http|tokens` is needed for the tokens of other users, and to create one with a token.',
    body: creation,
    answers: { 201: jsonAnswer('The token with its secret.', createdShape) },
    errors: ['ERR', 'CONFLICT', 'LIMIT', 'UNAVAILABLE', 'UNKNOWN'],
    change: { event: 'token-created', object: (_, answer) => tokenText(answer as CreatedTokenAnswer) },
    example: { body: { label: 'build server', rules: ['~order*', '+@issue'], expires: '30d' } },
    async handler(request, reply) {
      const caller = request.access
      const {
        user = caller.user,
        label = '',
        rules = [],
        expires = lifetimeDefault,
      } = readBody(creation, request)
      // A token that could make another one would outlive its expiry, its rules and its revocation.
      if (user !== caller.user || caller.token !== undefined) demandPermission(caller, ofAll)
      const narrowing = await readNarrowing(rules, subjects, passwords)
      const lifetimeMs = lifetimeOf(expires)
      // Whether there is room for it, and which others go, is found out by all of them.
      await pace.take(tokens.count() * tokenWork)
      const { token, text } = await tokens.create({ user, label, lifetimeMs, by: caller.user, ...narrowing })
      reply.code(201)
      return { token: text, ...answerOf(token, true) }
    },
  }
}

function list({ tokens }: AccessControl, pace: Pace): Operation {
  return {
    ...common,
    id: 'listTokens',
    method: 'GET',
    path: '/v1/tokens',
    summary: 'Shows tokens without their secrets, the newest first.',
    notes: ownNote,
    query,
    answers: { 200: jsonAnswer('The tokens.', listShape) },
    errors: ['ERR'],
    example: {},
    async handler(request) {
      const { access: caller } = request
      const { user } = readQuery(query, request)
      const whose = caller.allows(ofAll) ? user : caller.user
      await pace.take(tokens.count(whose) * tokenWork)
      const shown = tokens
        .all(whose)
        .filter((token) => mayManage(caller, token, tokens) && (user === undefined || user === token.user))
      return { tokens: shown.map((token) => answerOf(token, tokens.isValid(token))) }
    },
  }
}

function revoke({ tokens }: AccessControl): Operation {
  return {
    ...common,
    id: 'revokeToken',
    method: 'DELETE',
    path: '/v1/tokens/{id}',
    summary: 'Revokes a token. It is refused on every node within a second.',
    notes: ownNote,
    answers: { 204: { description: 'It is revoked.' } },
    errors: ['CONFLICT', 'UNAVAILABLE', 'UNKNOWN'],
    change: { event: 'token-revoked' },
    example: { name: '0123456789abcdef' },
    async handler(request, reply) {
      refuseBody(request)
      const id = idOf(request)
      const token = tokens.get(id)
      // The tokens of others are none to this caller.
      const isThere = token !== undefined && mayManage(request.access, token, tokens)
      if (!isThere || !(await tokens.revoke(id))) {
        throw new HttpRefusal(
          404,
          `no token '${id.slice(0, 64)}'; fahao token list and GET /v1/tokens show those that you may revoke`,
        )
      }
      reply.code(204)
      return reply.send()
    },
  }
}

/** A token may be read where it is used, in a URL for one: it ends no other token of its user. */
function mayManage(caller: Access, { user, id }: Token, tokens: Tokens): boolean {
  if (caller.allows(ofAll)) return true
  if (user !== caller.user) return false
  if (caller.token === undefined || caller.token === id) return true
  return tokens.get(caller.token)?.commands?.includes(`+${common.command}`) ?? false
}

function idOf({ params }: FastifyRequest): string {
  return (params as { readonly id: string }).id
}

function lifetimeOf(text: string): number | undefined {
  if (text === 'never') return undefined
  const lifetimeMs = parseDurationMs(text)
  if (lifetimeMs >= lifetimeMinMs && lifetimeMs <= lifetimeMaxMs) return lifetimeMs
  throw new FahaoError('ERR', "member 'expires': must be from 1s to 3650d, or never")
}

/** The object of an entry in the audit trail. */
function tokenText({ id, user }: CreatedTokenAnswer): string {
  return `${id} of ${user}`
}

function answerOf(token: Token, valid: boolean): TokensAnswer['tokens'][number] {
  const { id, user, label, patterns = [], commands = [], createdMs, createdBy, expiresMs } = token
  return {
    id,
    user,
    label,
    rules: [...patterns.map((pattern) => `~${pattern}`), ...commands],
    created: new Date(createdMs).toISOString(),
    createdBy,
    expires: expiresMs === undefined ? null : new Date(expiresMs).toISOString(),
    valid,
  }
}
