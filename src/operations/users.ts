/** The operations on users: list, show, set, remove, and who a caller is. */
import { z } from 'zod'
import { readRules, type User } from '../auth/user.ts'
import { httpOperation } from './operation.ts'

const path = '/v1/users/{name}'
const writeErrors = ['ERR', 'BUSY', 'CONFLICT', 'LIMIT', 'UNAVAILABLE', 'UNKNOWN'] as const

const rulesShape = z.strictObject({
  rules: z.array(z.string().max(1024)).max(256).meta({
    description:
      'the rules of ACL SETUSER, from left to right: on, off, >password, ~pattern, +command, -@category, reset and so on',
  }),
})

const shape = z
  .object({
    name: z.string(),
    enabled: z.boolean(),
    nopass: z.boolean().meta({ description: 'whether any password is accepted' }),
    passwords: z.int().meta({ description: 'how many it has' }),
    patterns: z.array(z.string()).meta({ description: 'of the generators that it may name' }),
    commands: z.array(z.string()).meta({ description: 'rules of the commands that it may run' }),
  })
  .meta({ id: 'User' })

const listShape = z.object({ users: z.array(shape) }).meta({ id: 'UserList' })

/** A user, as an answer. */
export type UserAnswer = z.output<typeof shape>
/** All users, as an answer. */
export type UsersAnswer = z.output<typeof listShape>

const alice: UserAnswer = {
  name: 'alice',
  enabled: true,
  nopass: false,
  passwords: 1,
  patterns: ['order*'],
  commands: ['-@all', '+@connection', '+@issue'],
}
const http = { path, tag: 'users', example: { name: 'alice', answer: alice } } as const
const none = (name: string) => `no user '${name.slice(0, 64)}'; fahao user list and GET /v1/users show all`

const whoami = httpOperation({
  name: 'acl|whoami',
  summary: 'Shows the user of the request: every user may ask, so this tries credentials.',
  http: {
    id: 'whoami',
    method: 'GET',
    path: '/v1/whoami',
    tag: 'users',
    answer: ['The user.', z.object({ user: z.string() }).meta({ id: 'Caller' })],
    errors: [],
    example: { answer: { user: 'alice' } },
  },
  run: ({ caller }) => ({ user: caller.access.user }),
})

const list = httpOperation({
  name: 'acl|list',
  summary: 'Shows all users in the order of their names.',
  http: {
    id: 'listUsers',
    method: 'GET',
    path: '/v1/users',
    tag: 'users',
    answer: ['The users.', listShape],
    errors: [],
    example: { answer: { users: [alice] } },
  },
  run: ({ server }) => ({ users: server.access.users.all().map(answerOf) }),
})

const show = httpOperation({
  name: 'acl|getuser',
  summary: 'Shows a user.',
  http: { ...http, id: 'getUser', method: 'GET', answer: ['The user.', shape], errors: ['ERR'], none },
  run({ server }, { name }) {
    const user = server.access.users.get(name)
    return user && answerOf(user)
  },
})

const set = httpOperation({
  name: 'acl|setuser',
  change: 'user-set',
  summary: 'Creates a user, or changes it by rules.',
  notes:
    'Rules change the user as it is, as ACL SETUSER does; begin with `reset` to describe it anew. In force on every node within a second, on open connections too.',
  http: {
    ...http,
    id: 'setUser',
    method: 'PUT',
    body: rulesShape,
    answer: ['The user.', shape],
    errors: writeErrors,
    example: { ...http.example, body: { rules: ['on', '>PASSWORD', '~order*', '+@issue'] } },
  },
  async run({ server }, { name, rules }) {
    const { users, subjects, passwords } = server.access
    return answerOf(await users.set(name, readRules(rules, subjects, passwords)))
  },
})

const remove = httpOperation({
  name: 'acl|deluser',
  change: 'user-deleted',
  summary: 'Removes a user and ends its connections; its tokens are void.',
  http: { ...http, id: 'removeUser', method: 'DELETE', answer: ['It is gone.'], errors: writeErrors, none },
  run: ({ server }, { name }) => server.access.users.remove(name),
})

/** `GET /v1/users` and everything at `/v1/users/{name}`. */
export const userOperations = [whoami, list, show, set, remove]

function answerOf({ passwords, ...user }: User): UserAnswer {
  const { name, enabled, nopass, patterns, commands } = user
  return {
    name,
    enabled,
    nopass,
    passwords: passwords.length,
    patterns: [...patterns],
    commands: [...commands],
  }
}
