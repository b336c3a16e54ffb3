/** Users and tokens that come and go for years, in a store that goes back now and then. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { purgeable, retentionMs } from '../../../src/auth/retention.ts'
import { readRules } from '../../../src/auth/user.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { openAccess } from './open-access.ts'

const dayMs = 86_400_000
const keptDays = retentionMs / dayMs
const names = ['alice', 'bob', 'carol'] as const

const steps = fc.array(
  fc.record({
    action: fc.constantFrom('create', 'remove', 'remove', 'token', 'revoke', 'go back'),
    name: fc.constantFrom(...names),
    days: fc.integer({ min: 0, max: 250 }),
    /** To which of the earlier states the store goes back. */
    back: fc.nat(),
  }),
  { minLength: 20, maxLength: 60 },
)

/** What must hold: the present user of each name, and each token with its user. */
type Model = {
  readonly users: Map<string, object>
  readonly tokens: Map<string, { readonly user: string; readonly of: object; isRevoked: boolean }>
}

function compare({ users, tokens }: AccessControl, model: Model): void {
  for (const name of names) assert.equal(users.access(name) !== undefined, model.users.has(name), name)
  for (const [id, { user, of, isRevoked }] of model.tokens)
    assert.equal(tokens.access(id) !== undefined, !isRevoked && model.users.get(user) === of, `${user} ${id}`)
}

async function live(history: typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never): Promise<void> {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const access = await openAccess(new MemoryEngine(store), { clock })
  const { users, tokens, subjects, passwords } = access
  const set = (name: string, ...rules: string[]) => users.set(name, readRules(rules, subjects, passwords))
  await set('admin', 'on', 'nopass', '~*', '+@all')
  await set('dave', 'on')
  const model: Model = { users: new Map(), tokens: new Map() }
  const states: { readonly atMs: number; readonly records: ReadonlyMap<string, StoredRecord> }[] = []
  for (const { action, name, days, back } of history) {
    const nowMs = clock.wall / 1000
    states.push({ atMs: nowMs, records: new Map(store.records) })
    const of = model.users.get(name)
    if (action === 'create' && of === undefined) {
      await set(name, 'on', '~*', '+@issue')
      model.users.set(name, {})
    } else if (action === 'remove') {
      assert.equal(await users.remove(name), of !== undefined)
      model.users.delete(name)
    } else if (action === 'token' && of !== undefined) {
      const { token } = await tokens.create({ user: name, label: '', lifetimeMs: undefined, by: 'admin' })
      model.tokens.set(token.id, { user: name, of, isRevoked: false })
    } else if (action === 'revoke') {
      const [id, token] =
        [...model.tokens].find(([, { user, isRevoked }]) => user === name && !isRevoked) ?? []
      if (id !== undefined) await tokens.revoke(id)
      if (token !== undefined) token.isRevoked = true
    } else if (action === 'go back') {
      const recent = states.filter(({ atMs }) => atMs + retentionMs > nowMs)
      const { records } = recent[back % recent.length]!
      store.records.clear()
      for (const [key, record] of records) store.records.set(key, record)
      await access.reconcile()
      const later = await openAccess(new MemoryEngine(store), { clock })
      compare(later, model)
      later.close()
    }
    compare(access, model)
    clock.wall += days * dayMs * 1000
  }
  // Once the records of what has ended are old enough, only those in use are left.
  clock.wall += 2 * retentionMs * 1000
  access.close()
  const last = await openAccess(new MemoryEngine(store), { clock })
  await last.users.set('erin', [])
  await last.users.remove('erin')
  await last.users.set('dave', [])
  await last.tokens.create({ user: 'dave', label: '', lifetimeMs: undefined, by: 'admin' })
  const inUse = [...model.tokens.values()].filter(
    ({ user, of, isRevoked }) => !isRevoked && model.users.get(user) === of,
  )
  const left = [...store.records.keys()]
  assert.equal(left.length, 3 + model.users.size + inUse.length + 1, left.join(' '))
  last.close()
}

test('a removed user and a void token do not come back with a copy that is younger than their records', async () => {
  await fc.assert(fc.asyncProperty(steps, live), { numRuns: 30 })
})

test('of ended records those go that are too old, and beyond a number the oldest', () => {
  const nowMs = 1000 * dayMs
  const ages = fc.array(fc.integer({ min: 0, max: 2 * keptDays }), { maxLength: 30 })
  fc.assert(
    fc.property(ages, fc.nat({ max: 20 }), (days, max) => {
      const ended = days.map((age) => ({ endedMs: nowMs - age * dayMs }))
      const going = new Set(purgeable(ended, max, nowMs))
      const staying = ended.filter((record) => !going.has(record))
      const recent = ended.filter(({ endedMs }) => endedMs + retentionMs > nowMs)
      assert.equal(staying.length, Math.min(max, recent.length))
      const oldest = Math.min(...staying.map(({ endedMs }) => endedMs))
      for (const { endedMs } of going) assert.ok(endedMs <= oldest)
    }),
  )
})
