/** The operations on users: list, show, set, remove. */
import { z } from 'zod'
import type { AccessControl } from '../../auth/access-control.ts'
import { readRules, type User } from '../../auth/user.ts'
import type { FahaoNode } from '../../node/node.ts'
import { jsonAnswer, nameOf, type Operation, readBody, refuseBody } from '../operation.ts'
import { HttpRefusal } from '../problem.ts'

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

/** `GET /v1/users` and everything at `/v1/users/{name}`. */
export function userOperations({ access }: Pick<FahaoNode, 'access'>): Operation[] {
  return [list(access), show(access), set(access), remove(access)]
}

function list({ users }: AccessControl): Operation {
  return {
    id: 'listUsers',
    command: 'acl|list',
    method: 'GET',
    path: '/v1/users',
    tag: 'users',
    summary: 'Shows all users in the order of their names.',
    answers: { 200: jsonAnswer('The users.', listShape) },
    errors: [],
    example: {},
    async handler() {
      return { users: users.all().map(answerOf) }
    },
  }
}

function show({ users }: AccessControl): Operation {
  return {
    id: 'getUser',
    command: 'acl|getuser',
    method: 'GET',
    path,
    tag: 'users',
    summary: 'Shows a user.',
    answers: { 200: jsonAnswer('The user.', shape) },
    errors: ['ERR'],
    example: { name: 'alice' },
    async handler(request) {
      const user = users.get(nameOf(request))
      if (user === undefined) throw noUser(nameOf(request))
      return answerOf(user)
    },
  }
}

function set({ users, subjects, passwords }: AccessControl): Operation {
  return {
    id: 'setUser',
    command: 'acl|setuser',
    method: 'PUT',
    path,
    tag: 'users',
    summary: 'Creates a user, or changes it by rules.',
    notes:
      'Rules change the user as it is, as ACL SETUSER does; begin with `reset` to describe it anew. In force on every node within a second, on open connections too.',
    body: rulesShape,
    answers: { 200: jsonAnswer('The user.', shape) },
    errors: writeErrors,
    change: { event: 'user-set' },
    example: { name: 'alice', body: { rules: ['on', '>secret', '~order*', '+@issue'] } },
    async handler(request) {
      const { rules } = readBody(rulesShape, request)
      return answerOf(await users.set(nameOf(request), readRules(rules, subjects, passwords)))
    },
  }
}

function remove({ users }: AccessControl): Operation {
  return {
    id: 'removeUser',
    command: 'acl|deluser',
    method: 'DELETE',
    path,
    tag: 'users',
    summary: 'Removes a user and ends its connections; its tokens are void.',
    answers: { 204: { description: 'It is gone.' } },
    errors: writeErrors,
    change: { event: 'user-deleted' },
    example: { name: 'alice' },
    async handler(request, reply) {
      refuseBody(request)
      const name = nameOf(request)
      if (!(await users.remove(name))) throw noUser(name)
      reply.code(204)
      return reply.send()
    },
  }
}

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

function noUser(name: string): HttpRefusal {
  return new HttpRefusal(404, `no user '${name.slice(0, 64)}'; fahao user list and GET /v1/users show all`)
}
