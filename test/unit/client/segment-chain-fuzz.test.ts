/** A chain of ranges under every sequence of calls, beside a model of what it may do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { scrambled, shuffled } from '../../../client/src/id-order.ts'
import { type Leftover, SegmentChain } from '../../../client/src/segment-chain.ts'
import { permutation } from '../../../src/ids/permutation.ts'
import { Run } from '../../../src/ids/run.ts'

const key = '000102030405060708090a0b0c0d0e0f'
const max = 999_999n
const whole = permutation(Buffer.from(key, 'hex'), max + 1n)

const call = fc.oneof(
  fc.record({
    add: fc.integer({ min: 0, max: 9000 }),
    gap: fc.integer({ min: 0, max: 3 }),
    ttl: fc.integer({ min: 1, max: 60 }),
  }),
  fc.record({ take: fc.integer({ min: 1, max: 5000 }) }),
  fc.record({ fast: fc.integer({ min: 1, max: 70 }) }),
  fc.record({ collect: fc.integer({ min: 1, max: 6000 }) }),
  fc.record({ pass: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ keep: fc.integer({ min: 0, max: 9000 }), within: fc.integer({ min: 0, max: 30 }) }),
  fc.record({ align: fc.integer({ min: 1, max: 40 }) }),
  fc.constant({ leave: true } as const),
)

test('a chain issues each id of its ranges once, and names only what is unused, inside the range of its lease', () => {
  const order = fc.constantFrom('counted', 'shuffled', 'scrambled')
  const increment = fc.integer({ min: 1, max: 7 })
  fc.assert(
    fc.property(
      order,
      increment,
      fc.integer({ min: 0, max: 6 }),
      fc.array(call, { maxLength: 40 }),
      (kind, given, rest, calls) => {
        const step = kind === 'scrambled' ? 1 : given
        const offset = BigInt(rest % step)
        const orderOf = {
          counted: () => undefined,
          shuffled: () => shuffled(step),
          scrambled: () => scrambled(key, max),
        }
        const chain = new SegmentChain(step, offset, orderOf[kind as keyof typeof orderOf]())
        const rawOf = (id: bigint) => (kind === 'scrambled' ? whole.inverse(id) : id)
        /** By lease: half-open, and the largest raw value that was issued of it. */
        const leases = new Map<
          string,
          { start: bigint; end: bigint; untilUs: number; used: bigint; closedFrom: bigint }
        >()
        const seen = new Set<bigint>()
        const run = new Run()
        let end = 1n
        let now = 0

        const issued = (id: bigint) => {
          const raw = rawOf(id)
          assert.ok(!seen.has(raw), `${raw} comes twice`)
          seen.add(raw)
          assert.ok(isId(raw), `${raw} is no id`)
          const lease = [...leases.values()].find(({ start, end }) => raw >= start && raw < end)
          assert.ok(
            lease !== undefined && lease.untilUs > now && raw < lease.closedFrom,
            `${raw} is not open`,
          )
          if (raw > lease.used) lease.used = raw
        }
        const allOf = (runs: readonly Run[]) => {
          for (const each of runs) for (let at = 0; at < each.count; at++) issued(each.at(at))
        }
        const named = ({ lease, from }: Leftover) => {
          const of = leases.get(lease)!
          assert.ok(from >= of.start && from <= of.end, `${from} is not in [${of.start}, ${of.end}]`)
          assert.ok(from > of.used, `${from} is named as unused, and ${of.used} was issued`)
          assert.ok(from < of.closedFrom, `${from} is named again`)
          of.closedFrom = from
        }
        const allNamed = () => {
          for (let each = chain.takeUnused(); each !== undefined; each = chain.takeUnused()) named(each)
        }
        const isId = (raw: bigint) => (((raw - offset) % BigInt(step)) + BigInt(step)) % BigInt(step) === 0n

        for (const each of calls) {
          chain.expire(now)
          if ('add' in each) {
            const start = end + BigInt(each.gap)
            end = start + BigInt(each.add)
            if (end > max) continue
            const untilUs = now + each.ttl
            leases.set(String(start), { start, end, untilUs, used: start - 1n, closedFrom: end })
            chain.add({ start, end }, { deadlineUs: untilUs, lease: String(start) })
          } else if ('take' in each) {
            const taken = chain.take(each.take, run)
            for (let at = 0; at < taken; at++) issued(run.at(at))
          } else if ('fast' in each) {
            for (let left = each.fast; left > 0; left--)
              if (chain.fastRun.take(1, run) > 0 || chain.take(1, run) > 0) issued(run.first)
          } else if ('collect' in each) {
            const had = chain.available
            const runs = chain.collect(each.collect)
            assert.equal(runs !== undefined, had >= each.collect)
            allOf(runs ?? [])
          } else if ('pass' in each) now += each.pass
          else if ('align' in each) {
            if (kind === 'counted' && step === 1 && chain.align(each.align)) {
              const ids = chain.collect(each.align)!
              allOf(ids)
              assert.equal(ids.at(-1)!.at(ids.at(-1)!.count - 1) - ids[0]!.first, BigInt(each.align - 1))
            }
          } else if ('keep' in each) {
            const had = chain.available
            chain.spare(now + each.within, each.keep)
            assert.ok(chain.available >= Math.min(had, each.keep))
            allNamed()
          } else {
            chain.giveUp()
            assert.equal(chain.available, 0)
            allNamed()
          }
          chain.assertInvariants()
        }
        chain.expire(now)
        const { available } = chain
        allOf(chain.collect(available) ?? [])
        assert.deepEqual([chain.available, chain.collect(1)], [0, undefined])
        chain.giveUp()
        allNamed()
        chain.assertInvariants()
        // What no order leaves behind: each id was issued, or is named.
        if (kind !== 'shuffled')
          for (const { start, end, closedFrom } of leases.values())
            for (let raw = start; raw < end; raw++)
              assert.equal(isId(raw) && raw < closedFrom, seen.has(raw), `${raw} is lost`)
      },
    ),
    { numRuns: 300 },
  )
})
