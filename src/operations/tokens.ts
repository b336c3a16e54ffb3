/** The operations on tokens: create, list, revoke. */
import { z } from 'zod'
import { type Access, demandPermission } from '../auth/access.ts'
import { readTokenScope, type Token } from '../auth/token.ts'
import type { Tokens } from '../auth/tokens.ts'
import { FahaoError } from '../base/errors.ts'
import { parseDurationMs } from '../base/units.ts'
import { httpOperation } from './operation.ts'

const dayMs = 86_400_000
const lifetimeDefault = '90d'
const [lifetimeMinMs, lifetimeMaxMs] = [1000, 3650 * dayMs]
/** The time to look at a token, as the bytes of a reply that take as long. */
const tokenWork = 48
/** The permission for the tokens of all users. */
const ofAll = 'http|tokens'
/** The permission for one's own. */
const ownTokens = 'http|own-tokens'
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

const shownToken: TokensAnswer['tokens'][number] = {
  id: '0123456789abcdef',
  user: 'alice',
  label: 'build server',
  rules: ['~order*', '-@all', '+@connection', '+@issue'],
  created: '2026-11-28T11:10:23.367Z',
  createdBy: 'admin',
  expires: '2026-12-28T11:10:23.367Z',
  valid: true,
}

const create = httpOperation({
  name: ownTokens,
  permissions: { [ofAll]: ['admin', 'dangerous'], [ownTokens]: ['connection'] },
  change: 'token-created',
  summary: 'Creates a token, and shows its secret this once.',
  notes:
    'A token permits what both its user and its rules permit. Every user creates tokens for itself, with its password and not with a token; the permission `http|tokens` is needed for the tokens of other users, and to create one with a token.',
  http: {
    id: 'createToken',
    method: 'POST',
    path: '/v1/tokens',
    tag: 'users',
    body: creation,
    answer: ['The token with its secret.', createdShape],
    status: 201,
    errors: ['ERR', 'CONFLICT', 'LIMIT', 'UNAVAILABLE', 'UNKNOWN'],
    example: {
      body: { label: 'build server', rules: ['~order*', '+@issue'], expires: '30d' },
      answer: { token: 'fahao_0123456789abcdef_SECRET', ...shownToken },
    },
  },
  changed: (_, { id, user }) => `${id} of ${user}`,
  async run({ caller, server }, { user = caller.access.user, label = '', rules = [], expires }) {
    const { access } = caller
    const { tokens, subjects, passwords } = server.access
    // A token that could make another one would outlive its expiry, its rules and its revocation.
    if (user !== access.user || access.token !== undefined) demandPermission(access, ofAll)
    const scope = await readTokenScope(rules, subjects, passwords)
    const lifetimeMs = lifetimeOf(expires)
    // Whether there is room for it, and which others go, is found out by all of them.
    await server.turns.take(tokens.count() * tokenWork)
    const { token, text } = await tokens.create({ user, label, lifetimeMs, by: access.user, ...scope })
    return { token: text, ...answerOf(token, true) }
  },
})

const list = httpOperation({
  name: ownTokens,
  summary: 'Shows tokens without their secrets, the newest first.',
  notes: ownNote,
  query,
  http: {
    id: 'listTokens',
    method: 'GET',
    path: '/v1/tokens',
    tag: 'users',
    answer: ['The tokens.', listShape],
    errors: ['ERR'],
    example: { answer: { tokens: [shownToken] } },
  },
  async run({ caller: { access }, server }, { user }) {
    const { tokens } = server.access
    const whose = access.allows(ofAll) ? user : access.user
    await server.turns.take(tokens.count(whose) * tokenWork)
    const shown = tokens
      .all(whose)
      .filter((token) => mayManage(access, token, tokens) && (user === undefined || user === token.user))
    return { tokens: shown.map((token) => answerOf(token, tokens.isValid(token))) }
  },
})

const revoke = httpOperation({
  name: ownTokens,
  change: 'token-revoked',
  summary: 'Revokes a token. It is refused on every node within a second.',
  notes: ownNote,
  http: {
    id: 'revokeToken',
    method: 'DELETE',
    path: '/v1/tokens/{id}',
    tag: 'users',
    answer: ['It is revoked.'],
    errors: ['CONFLICT', 'UNAVAILABLE', 'UNKNOWN'],
    none: (id) =>
      `no token '${id.slice(0, 64)}'; fahao token list and GET /v1/tokens show those that you may revoke`,
    example: { name: '0123456789abcdef' },
  },
  async run({ caller, server }, { id }) {
    const { tokens } = server.access
    const token = tokens.get(id)
    // The tokens of others are none to this caller.
    return token !== undefined && mayManage(caller.access, token, tokens) && tokens.revoke(id)
  },
})

/** Everything at `/v1/tokens`. */
export const tokenOperations = [create, list, revoke]

/** A token may be read where it is used, in a URL for one: it ends no other token of its user. */
function mayManage(caller: Access, { user, id }: Token, tokens: Tokens): boolean {
  if (caller.allows(ofAll)) return true
  if (user !== caller.user) return false
  if (caller.token === undefined || caller.token === id) return true
  return tokens.get(caller.token)?.commands?.includes(`+${ownTokens}`) ?? false
}

function lifetimeOf(text = lifetimeDefault): number | undefined {
  if (text === 'never') return undefined
  const lifetimeMs = parseDurationMs(text)
  if (lifetimeMs >= lifetimeMinMs && lifetimeMs <= lifetimeMaxMs) return lifetimeMs
  throw new FahaoError('ERR', "member 'expires': must be from 1s to 3650d, or never")
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
