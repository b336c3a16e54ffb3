/** Watches: no final state is missed, whichever process wrote it. */
import assert from 'node:assert/strict'
import type { Engine, RecordChange } from '../../src/engine/engine.ts'
import type { Declare } from './describeEngine.ts'

/** Collects what a watch tells, and waits for it. */
class Told {
  readonly changes: RecordChange[] = []
  #waiting: (() => void)[] = []

  readonly listener = (change: RecordChange): void => {
    this.changes.push(change)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Resolves when the last that was told of `key` is `value` (undefined: that it is gone). */
  async until(key: string, value: string | undefined): Promise<void> {
    while (this.last(key) === undefined || this.last(key)!.record?.value !== value) {
      await new Promise<void>((wake) => this.#waiting.push(wake))
    }
  }

  last(key: string): RecordChange | undefined {
    return this.changes.findLast((change) => change.key === key)
  }
}

/** Declares the tests of watches. */
export function watchTests(declare: Declare): void {
  declare('a watch reports writes and removals, by this engine and by others', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    const told = new Told()
    await mine.watch('k/', told.listener)
    for (const [index, engine] of [mine, other].entries()) {
      const key = `k/${index}`
      const written = await engine.write(key, 'one', undefined)
      await told.until(key, 'one')
      assert.deepEqual(told.last(key), { key, record: written })
      const rewritten = await engine.write(key, 'two', written!.version)
      await told.until(key, 'two')
      await engine.remove(key, rewritten!.version)
      await told.until(key, undefined)
      await engine.write(key, 'three', undefined)
      await told.until(key, 'three')
    }
  })

  declare('each watch reports changes under its own prefix only', async ({ open }) => {
    const engine = await open()
    const [k, l, all] = [new Told(), new Told(), new Told()]
    await engine.watch('k/', k.listener)
    await engine.watch('l/', l.listener)
    await engine.watch('', all.listener)
    await engine.write('k/a', 'x', undefined)
    await engine.write('l/a', 'x', undefined)
    await engine.write('end', 'x', undefined)
    await Promise.all([k.until('k/a', 'x'), l.until('l/a', 'x'), all.until('end', 'x')])
    assert.deepEqual(new Set(k.changes.map(({ key }) => key)), new Set(['k/a']))
    assert.deepEqual(new Set(l.changes.map(({ key }) => key)), new Set(['l/a']))
    assert.deepEqual(new Set(all.changes.map(({ key }) => key)), new Set(['k/a', 'l/a', 'end']))
  })

  declare('a watch does not report earlier writes', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    await other.write('k/old', 'x', undefined)
    const gone = await other.write('k/gone', 'x', undefined)
    await other.remove('k/gone', gone!.version)
    const told = new Told()
    await mine.watch('k/', told.listener)
    await other.write('k/new', 'x', undefined)
    await told.until('k/new', 'x')
    assert.deepEqual(new Set(told.changes.map(({ key }) => key)), new Set(['k/new']))
  })

  declare('a second watch takes no change from the first', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    const [one, two] = [new Told(), new Told()]
    await mine.watch('k/', one.listener)
    const beginning = mine.watch('k/', two.listener)
    await other.write('k/a', 'x', undefined)
    await beginning
    await other.write('k/b', 'x', undefined)
    await Promise.all([one.until('k/a', 'x'), one.until('k/b', 'x'), two.until('k/b', 'x')])
  })

  declare(
    'a watch that begins between a change and its report does not swallow the change',
    async ({ open }) => {
      const [mine, other] = [await open(), await open()]
      const [one, two] = [new Told(), new Told()]
      await mine.watch('k/', one.listener)
      const gone = await other.write('k/gone', 'x', undefined)
      await one.until('k/gone', 'x')
      await other.write('k/a', 'x', undefined)
      await other.remove('k/gone', gone!.version)
      await mine.watch('k/', two.listener)
      await Promise.all([one.until('k/a', 'x'), one.until('k/gone', undefined)])
    },
  )

  declare('two watches that begin at once miss no change between them', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    const [one, two] = [new Told(), new Told()]
    const first = mine.watch('k/', one.listener)
    const second = first.then(() => other.write('k/a', 'x', undefined))
    await Promise.all([first, second, mine.watch('k/', two.listener)])
    await one.until('k/a', 'x')
  })

  declare('changes of one key come in order, and the last state is never missed', async ({ open }) => {
    const engines = [await open(), await open()]
    const tolds = await Promise.all(
      engines.map(async (engine) => {
        const told = new Told()
        await engine.watch('k/', told.listener)
        return told
      }),
    )
    await Promise.all(engines.map((engine, index) => churn(engine, index)))
    const last = await engines[0]!.read('k/shared')
    const end = await engines[0]!.write('k/shared', 'end', last?.version)
    await Promise.all(tolds.map((told) => told.until('k/shared', 'end')))
    for (const told of tolds) {
      const versions = told.changes.flatMap(({ record }) => (record ? [record.version] : []))
      assert.deepEqual(
        versions,
        [...versions].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
      )
      assert.equal(told.last('k/shared')!.record!.version, end!.version)
    }
  })

  declare('all changes arrive, also more than fit on a page at once', async ({ open }) => {
    // Where every write waits for a disk of its own accord, the last one waits long.
    const [mine, other] = [await open(), await open({ callTimeoutMs: 55_000 })]
    const told = new Told()
    await mine.watch('k/', told.listener)
    const wanted = Array.from({ length: 2500 }, (_, index) => `k/${index}`)
    await Promise.all(wanted.map((key) => other.write(key, 'x', undefined)))
    await Promise.all(wanted.slice(-5).map((key) => told.until(key, 'x')))
    await other.write('k/end', 'x', undefined)
    await told.until('k/end', 'x')
    assert.equal(new Set(told.changes.map(({ key }) => key)).size, wanted.length + 1)
  })

  declare('a closed watch reports no change, and others continue', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    const [closed, going] = [new Told(), new Told()]
    const watch = await mine.watch('k/', closed.listener)
    await mine.watch('k/', going.listener)
    await mine.write('k/a', 'x', undefined)
    await closed.until('k/a', 'x')
    watch.close()
    watch.close()
    const before = closed.changes.length
    await mine.write('k/b', 'x', undefined)
    await other.write('k/c', 'x', undefined)
    await Promise.all([going.until('k/b', 'x'), going.until('k/c', 'x')])
    assert.equal(closed.changes.length, before)
  })

  declare('a watch may be closed by its own listener', async ({ open }) => {
    const engine = await open()
    const keys: string[] = []
    const watch = await engine.watch('k/', ({ key }) => {
      keys.push(key)
      watch.close()
    })
    const told = new Told()
    await engine.watch('k/', told.listener)
    await Promise.all([engine.write('k/a', 'x', undefined), engine.write('k/b', 'x', undefined)])
    await told.until('k/b', 'x')
    assert.equal(keys.length, 1)
  })
}

async function churn(engine: Engine, index: number): Promise<void> {
  for (let round = 0; round < 25; round++) {
    const now = await engine.read('k/shared')
    if (now !== undefined && round % 5 === 4) await engine.remove('k/shared', now.version)
    else await engine.write('k/shared', `${index}.${round}`, now?.version)
  }
}
