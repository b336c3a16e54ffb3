/** Users of a store in memory, for tests. */

import type { Audit } from '../../../src/audit/audit.ts'
import { AccessControl } from '../../../src/auth/access-control.ts'
import { Subjects } from '../../../src/auth/command-rules.ts'
import type { NodeProof } from '../../../src/auth/node-proof.ts'
import { Passwords } from '../../../src/auth/passwords.ts'
import { readRules, type User } from '../../../src/auth/user.ts'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { subjectsOf } from '../../../src/commands/access.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Trail } from '../audit/trail.ts'

/** What rules can name. */
export const subjects = new Subjects(subjectsOf(createCommands().all()))

/** Passwords whose hashes cost next to nothing. */
export function cheapPasswords(): Passwords {
  return new Passwords({ ln: 4, r: 1, p: 1 })
}

/** Users of `engine`; by default of an empty store. */
export function openAccess(
  engine: Engine = new MemoryEngine(new MemoryStore()),
  {
    clock = systemClock,
    events = [] as string[],
    audit = new Trail().audit,
    passwords = cheapPasswords(),
    proof = undefined as NodeProof | undefined,
  }: { clock?: Clock; events?: string[]; audit?: Audit; passwords?: Passwords; proof?: NodeProof } = {},
): Promise<AccessControl> {
  return AccessControl.open({
    engine,
    clock,
    audit,
    passwords,
    proof,
    nowUs: () => clock.wallUs(),
    subjects,
    newId: () => crypto.randomUUID(),
    graceMs: 60_000,
    onEvent: ({ message }) => events.push(message),
  })
}

/** Makes or changes a user by rules. */
export function setUser(access: AccessControl, name: string, ...rules: string[]): Promise<User> {
  return access.users.set(name, readRules(rules, access.subjects, access.passwords))
}

/** What a client sends as its authorization. */
export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** Users with these rules, in this order. */
export async function accessOf(users: Readonly<Record<string, readonly string[]>>): Promise<AccessControl> {
  const access = await openAccess()
  for (const [name, rules] of Object.entries(users)) await setUser(access, name, ...rules)
  return access
}
