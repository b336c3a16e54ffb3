/**
 * One suite for every engine: what `src/engine/engine.ts` promises, shown. Each engine calls it with how to open
 * a store and with what it cannot do, and why; tests that need that are skipped with this reason.
 */
import { describe, test } from 'node:test'
import type { Lifetime } from '../launch/lifetime.ts'
import { advanceTests } from './advance.ts'
import { burstTests } from './bursts.ts'
import { commitTests } from './commits.ts'
import { counterTests } from './counters.ts'
import { lifeTests } from './life.ts'
import { lookUpTests } from './look-ups.ts'
import { modelTests } from './model.ts'
import { processTests } from './processes.ts'
import { recordTests } from './records.ts'
import { type Bench, benchOf, type EngineUnderTest } from './store-under-test.ts'
import { watchTests } from './watch.ts'

/** What a test can need of an engine beyond counters and records. */
export type Capability = 'durable' | 'shared' | 'owned' | 'freezes'

/** Declares one test of the suite: it gets a fresh store. */
export type Declare = (
  name: string,
  body: (bench: Bench, lifetime: Lifetime) => Promise<void>,
  ...needs: Capability[]
) => void

/** Holds an engine to the contract. */
export function describeEngine(engine: EngineUnderTest): void {
  const declare: Declare = (name, body, ...needs) => {
    const lacking = needs.map((need) => engine[need]).find((able) => able !== true)
    const options = { timeout: 60_000, ...(lacking === undefined ? {} : { skip: lacking }) }
    test(name, options, async (t) => body(await benchOf(engine, t), t))
  }
  describe(`the ${engine.name} engine`, () => {
    describe('counters', () => counterTests(declare))
    describe('advances', () => advanceTests(declare))
    describe('bursts', () => burstTests(declare))
    describe('records', () => recordTests(declare))
    describe('look-ups', () => lookUpTests(declare))
    describe('commits', () => commitTests(declare))
    describe('watches', () => watchTests(declare))
    describe('any sequence of calls', () => modelTests(declare))
    describe('opening, failing and closing', () => lifeTests(declare))
    describe('several processes', () => processTests(declare))
  })
}
