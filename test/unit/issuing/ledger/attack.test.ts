/** Random requests to a ledger: against a plain model, and while commits fail, replies are lost and leaders change. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../../../src/base/errors.ts'
import type { Reserved } from '../../../../src/issuing/ledger/ledger-lines.ts'
import { Dice } from '../../dice.ts'
import { openLedger } from './open-ledger.ts'

const faults = ['lose-reply', 'lose-request', 'late', 'unavailable'] as const

/** What a plain list makes of the same requests. */
class Model {
  readonly lines: { state: string; secret: string; deadlineUs: number }[] = []

  lapse(nowUs: number): void {
    for (const line of this.lines)
      if (line.state === 'held' && line.deadlineUs <= nowUs) Object.assign(line, { state: 'free' })
  }

  reserve({ number, secret }: Reserved, deadlineUs: number): void {
    const free = this.lines.findIndex(({ state }) => state === 'free')
    const expected = free < 0 ? this.lines.length : free
    assert.equal(number, BigInt(expected + 1), 'the lowest free number, or the next one')
    this.lines[expected] = { state: 'held', secret, deadlineUs }
  }

  line({ number, secret }: Reserved) {
    const line = this.lines[Number(number) - 1]!
    return { line, isOwn: line.secret === secret }
  }

  get states(): string[] {
    return this.lines.map(({ state }, at) => `${at + 1} ${state}`)
  }
}

describe('random requests', { timeout: 120_000 }, () => {
  test('have the outcomes of a plain list', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const dice = new Dice(seed)
      const model = new Model()
      let leader = openLedger()
      const { clock } = leader
      const known: Reserved[] = []
      for (let step = 0; step < 150; step++) {
        const act = dice.below(12)
        model.lapse(clock.mono)
        const target = known.length > 0 ? dice.of(known) : undefined
        if (act < 4 || target === undefined) {
          const holdMs = dice.of([1000, 30_000])
          const reserved = await leader.reserve({ holdMs })
          model.reserve(reserved, clock.mono + holdMs * 1000)
          known.push(reserved)
        } else if (act < 7) {
          const { line, isOwn } = model.line(target)
          const isGood = isOwn && (line.state === 'held' || line.state === 'confirmed')
          const confirming = leader.ledger.confirm(target, 'shop')
          await (isGood ? confirming : assert.rejects(confirming, { code: 'LAPSED' }))
          if (isGood) line.state = 'confirmed'
        } else if (act === 7) {
          const { line, isOwn } = model.line(target)
          const isRefused = isOwn && line.state === 'confirmed'
          const cancelling = leader.ledger.cancel(target, 'shop')
          await (isRefused ? assert.rejects(cancelling, { code: 'ERR' }) : cancelling)
          if (isOwn && line.state === 'held') line.state = 'free'
        } else if (act === 8) {
          const { line, isOwn } = model.line(target)
          const voiding = leader.ledger.void(target.number, target.secret, 'no', 'shop')
          await (isOwn ? voiding : assert.rejects(voiding, { code: 'LAPSED' }))
          if (isOwn) line.state = 'void'
        } else if (act === 9) {
          await clock.pass(dice.of([100, 1500, 40_000]))
          model.lapse(clock.mono)
        } else if (act === 10 && dice.below(3) === 0) {
          // Each hold begins anew, also one that had lapsed and not gone to another caller.
          const fence = BigInt(step + 2)
          leader = openLedger({ store: leader.store, clock, fence })
          model.lapse(clock.mono)
          await leader.ledger.read(0n, 1)
          const { entries } = await leader.ledger.read(0n, 1000)
          for (const [at, entry] of entries.entries())
            if (entry.state === 'held')
              Object.assign(model.lines[at]!, {
                state: 'held',
                deadlineUs: clock.mono + entry.holdMs! * 1000,
              })
        } else
          await leader.ledger
            .void(target.number, undefined, 'by number', 'books')
            .then(() => Object.assign(model.lines[Number(target.number) - 1]!, { state: 'void' }))
        leader.ledger.assertInvariants()
      }
      assert.deepEqual(await leader.states(), model.states, `seed ${seed}`)
    }
  })

  test('are accounted for once, whatever fails and whichever node leads', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const dice = new Dice(seed)
      const leaders = [openLedger()]
      const { store, clock } = leaders[0]!
      const known: Reserved[] = []
      const [confirmed, refused, voided] = [new Map<bigint, string>(), new Set<string>(), new Set<bigint>()]
      const tried = new Set<string>()
      const outcome = async <Answer>(asked: Promise<Answer>): Promise<Answer | string> => {
        let settled: Answer | string | undefined
        const waiting = asked.then(
          (answer) => (settled = answer ?? 'OK'),
          (error) => (settled = hasCode(error, 'LAPSED') ? 'LAPSED' : `error ${error.code}`),
        )
        for (let at = 0; at < 40 && settled === undefined; at++) await clock.pass(100)
        await waiting
        return settled!
      }
      for (let step = 0; step < 80; step++) {
        if (dice.below(12) === 0)
          leaders.push(openLedger({ store, clock, fence: BigInt(leaders.length + 1) }))
        // Now and then a former leader is asked, which does not know that it is one.
        const { ledger, engine, reserve } = dice.below(5) === 0 ? dice.of(leaders) : leaders.at(-1)!
        if (dice.below(4) === 0) engine.next(dice.of(['commit', 'commit', 'any'] as const), dice.of(faults))
        if (dice.below(10) === 0) await engine.deliver()
        if (dice.below(15) === 0) await clock.pass(35_000)
        const act = dice.below(10)
        const target = known.length > 0 ? dice.of(known) : undefined
        if (act < 4 || target === undefined) {
          const many = await Promise.all(Array.from({ length: 1 + dice.below(4) }, () => outcome(reserve())))
          for (const each of many) if (typeof each === 'object') known.push(each)
        } else if (act < 8) {
          tried.add(target.secret)
          const answer = await outcome(ledger.confirm(target, 'shop'))
          if (answer === 'OK') {
            assert.ok(!refused.has(target.secret), `seed ${seed}: ${target.number} was lapsed before`)
            const before = confirmed.get(target.number)
            assert.ok(
              before === undefined || before === target.secret,
              `seed ${seed}: ${target.number} twice`,
            )
            confirmed.set(target.number, target.secret)
          } else if (answer === 'LAPSED') {
            assert.ok(
              confirmed.get(target.number) !== target.secret || voided.has(target.number),
              `seed ${seed}: ${target.number} was confirmed before`,
            )
            refused.add(target.secret)
          }
        } else if (act === 8) {
          if ((await outcome(ledger.cancel(target, 'shop'))) === 'OK') refused.add(target.secret)
        } else {
          voided.add(target.number)
          await outcome(ledger.void(target.number, target.secret, 'no', 'shop'))
        }
      }
      for (const { engine } of leaders) {
        await engine.deliver()
        engine.heal()
      }
      const last = openLedger({ store, clock, fence: 1000n })
      const { entries } = await last.ledger.read(0n, 10_000)
      for (const [at, { from, to }] of entries.entries())
        assert.deepEqual([from, to], [BigInt(at + 1), BigInt(at + 1)])
      assert.equal(BigInt(entries.length) + 1n, store.counters.get('generators/invoice')!.bound)
      for (const [number, secret] of confirmed) {
        const line = entries[Number(number) - 1]!
        const isVoid = voided.has(number) && line.state === 'void'
        assert.ok(isVoid || (line.state === 'confirmed' && line.secret === secret), `seed ${seed}: ${number}`)
      }
      for (const { state, secret, from } of entries)
        assert.ok(state !== 'confirmed' || tried.has(secret!), `seed ${seed}: ${from} was never confirmed`)
      last.ledger.assertInvariants()
    }
  })
})
