import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstOid, OidRegistry } from '../../../src/postgres/oid-registry.ts'

test('an oid follows from the name, and no two names share one', () => {
  const [first, second] = [new OidRegistry(), new OidRegistry()]
  const names = Array.from({ length: 50_000 }, (_, index) => `generator ${index}`)
  const seen = new Set(names.map((name) => first.oidOf(name)))
  assert.equal(seen.size, names.length)
  for (const name of names.slice(0, 10)) {
    assert.equal(second.oidOf(name), firstOid(name))
    assert.equal(second.nameOf(firstOid(name)), name)
  }
})

test('names that collide get different oids', () => {
  const byOid = new Map<number, string>()
  let pair: readonly [string, string] | undefined
  for (let index = 0; !pair; index++) {
    const name = `n${index}`
    const other = byOid.get(firstOid(name))
    if (other) pair = [other, name]
    byOid.set(firstOid(name), name)
  }
  const registry = new OidRegistry()
  const [a, b] = pair.map((name) => registry.oidOf(name))
  assert.equal(a, firstOid(pair[0]))
  assert.notEqual(a, b)
  assert.equal(registry.nameOf(b!), pair[1])
})

test('the names that were seen longest ago are forgotten first', () => {
  const registry = new OidRegistry(2)
  const oid = registry.oidOf('a')
  registry.oidOf('b')
  registry.oidOf('c')
  assert.equal(registry.nameOf(oid), undefined)
  assert.equal(registry.nameOf(registry.oidOf('b')), 'b')
})
