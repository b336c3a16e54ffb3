/** What every hook promises, shown on every database that its ORM has. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Ids } from '../../client/src/orm/missing-ids.ts'
import { FahaoError } from '../../src/base/errors.ts'
import { atEnd } from '../launch/lifetime.ts'
import { type Database, type DatabaseKind, startDatabases } from './databases.ts'
import { type Generators, openGenerators, type Watched } from './generators.ts'

/** An order as a caller gives it. What is missing comes from the generators. */
export type Given = {
  readonly customer: string
  readonly id?: bigint
  readonly short?: number
  readonly code?: string
}

/** A table of orders, through an ORM with its hook. */
export type Orders = {
  /** One row, as the ORM inserts one. */
  insert(row: Given): Promise<unknown>
  /** Several rows, as the ORM inserts several. */
  insertAll(rows: readonly Given[]): Promise<unknown>
  /** Inserts the rows one after the other in one transaction, which ends with `error` if there is one. */
  inTransaction(rows: readonly Given[], error?: Error): Promise<unknown>
  close(): Promise<unknown>
}

/** A hook under test. */
export type Hook = {
  readonly name: string
  readonly databases: readonly DatabaseKind[]
  /** What one row and `count` rows ask of generators of bigints or numbers, and of texts. Default: `next`, `nextBatch`. */
  readonly calls?: { readonly id: (count: number) => string[]; readonly text: (count: number) => string[] }
  /** Opens the table; `ids` has the columns of `orders`: id, short and code. */
  open(database: Database, ids: Columns): Promise<Orders>
}

/** The generators of the columns of a table of orders. */
export type Columns = { readonly id: Watched; readonly short: Watched; readonly code: Watched }

type Scene = { orders: Orders; database: Database; generators: Generators }

const usual = {
  id: (count: number) => (count === 1 ? ['next'] : [`nextBatch ${count}`]),
  text: (count: number) => new Array<string>(count).fill('nextText'),
}

/** Holds a hook to what all hooks promise. */
export function describeHook(hook: Hook): void {
  const calls = hook.calls ?? usual
  for (const kind of hook.databases)
    describe(`${hook.name} on ${kind}`, { timeout: 120_000 }, () => {
      const databases = startDatabases({ after }, kind)

      const scene = async (t: { after(callback: () => Promise<void>): void }, short?: 'three') => {
        const generators = await openGenerators(t)
        const database = await (await databases)(t)
        const { order, code } = generators
        const orders = await hook.open(database, { id: order, short: generators[short ?? 'short'], code })
        atEnd(t, () => orders.close())
        return { orders, database, generators } satisfies Scene
      }

      test('fills the ids of one row, exactly, each in the form of its column', async (t) => {
        const { orders, database, generators } = await scene(t)
        await orders.insert({ customer: 'Ada' })
        const { order, short, code } = generators
        assert.ok((order.ids[0] as bigint) > 2n ** 53n, `${order.ids[0]}`)
        assert.deepEqual(await database.orders(), [
          { id: `${order.ids[0]}`, short: `${short.ids[0]}`, code: code.ids[0], customer: 'Ada' },
        ])
        assert.match(String(code.ids[0]), /^c-\d{6}-\d$/)
        assert.deepEqual([order.calls, short.calls, code.calls], [calls.id(1), calls.id(1), calls.text(1)])
      })

      test('takes one batch for several rows, in their order', async (t) => {
        const { orders, database, generators } = await scene(t)
        await orders.insertAll(names.map((customer) => ({ customer })))
        const stored = await database.orders()
        const { order, short, code } = generators
        assert.deepEqual(
          stored.map(({ id }) => id),
          order.ids.map(String),
        )
        assert.deepEqual(
          stored.map((row) => row.short),
          short.ids.map(String),
        )
        assert.deepEqual(
          stored.map((row) => row.code),
          code.ids,
        )
        assert.equal(new Set(order.ids).size, names.length)
        assert.deepEqual(
          [order.calls, short.calls, code.calls],
          [calls.id(names.length), calls.id(names.length), calls.text(names.length)],
        )
      })

      test('leaves values of the caller alone, 0 too, and draws only what is missing', async (t) => {
        const { orders, database, generators } = await scene(t)
        await orders.insertAll([
          { customer: 'a', id: 0n, short: 0, code: '' },
          { customer: 'b', id: 2n ** 61n + 1n },
          { customer: 'c', short: 7 },
          { customer: 'd', code: 'mine' },
        ])
        const { order, short, code } = generators
        const [c, d] = order.ids.map(String)
        assert.deepEqual(await database.orders(), [
          { customer: 'a', id: '0', short: '0', code: '' },
          { customer: 'b', id: `${2n ** 61n + 1n}`, short: `${short.ids[0]}`, code: code.ids[0] },
          { customer: 'c', id: c, short: '7', code: code.ids[1] },
          { customer: 'd', id: d, short: `${short.ids[1]}`, code: 'mine' },
        ])
        assert.deepEqual([order.calls, short.calls, code.calls], [calls.id(2), calls.id(2), calls.text(2)])
        await orders.insert({ customer: 'e', id: 5n, short: 0, code: 'given' })
        assert.equal((await database.orders()).at(-1)?.id, '5')
        assert.equal(order.calls.length, calls.id(2).length)
      })

      test('fills ids inside a transaction, and none stay when it is rolled back', async (t) => {
        const { orders, database } = await scene(t)
        const stop = new Error('stop')
        await assert.rejects(orders.inTransaction([{ customer: 'a' }, { customer: 'b' }], stop), (error) => {
          return error === stop
        })
        assert.deepEqual(await database.orders(), [])
        await orders.inTransaction([{ customer: 'a' }, { customer: 'b' }])
        assert.equal((await database.orders()).length, 2)
      })

      test("fails with the generator's error when ids cannot be drawn, and inserts nothing", async (t) => {
        const { orders, database } = await scene(t, 'three')
        const four = names.slice(0, 4).map((customer) => ({ customer }))
        await assert.rejects(orders.insertAll(four), isExhausted)
        assert.deepEqual(await database.orders(), [])
        // An error does not hold the connection: more of them than a pool has.
        for (let round = 0; round < 12; round++)
          await assert.rejects(orders.inTransaction([{ customer: 'a', short: round }, ...four]), isExhausted)
        assert.deepEqual(await database.orders(), [])
        await orders.insert({ customer: 'z', short: 9 })
        assert.equal((await database.orders()).length, 1)
      })
    })
}

const names = ['Ada', 'Barbara', 'Edsger', 'Grace', 'Tony']

/** Whether the error, or one that it was made from, is EXHAUSTED of the generator. */
function isExhausted(error: unknown): boolean {
  assert.ok(error instanceof FahaoError, `${error}`)
  assert.equal(error.code, 'EXHAUSTED')
  return true
}

/** Ids of the table of orders, under the names that an ORM has for it. */
export function idsOf(table: string, { id, short, code }: Columns): Ids {
  return {
    [table]: { id, short: { generator: short, as: 'number' }, code: { generator: code, as: 'text' } },
  }
}
