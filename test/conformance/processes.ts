/** Several processes on one store, and the sudden end of some. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Engine, RecordChange } from '../../src/engine/engine.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { assertDisjoint } from './counters.ts'
import type { Declare } from './describeEngine.ts'

const mine = { incarnation: 1n }

type Acknowledged = { readonly start: bigint; readonly end: bigint }

/** Starts a process that works on the store; see `child.ts` for what it can do. */
function startChild(lifetime: Lifetime, url: string, ...work: string[]): Promise<RunningProcess> {
  return startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'child.ts'), url, ...work],
    readyWhen: { line: /^opened$/m },
  })
}

/** The ranges that it has printed; a line that its death cut short does not count. */
function acknowledged(child: RunningProcess): Acknowledged[] {
  const lines = child.output().split('\n').slice(0, -1)
  return lines.flatMap((line) => {
    const [, start, end] = /^range (\d+) (\d+)$/.exec(line) ?? []
    return start === undefined || end === undefined ? [] : [{ start: BigInt(start), end: BigInt(end) }]
  })
}

async function until(child: RunningProcess, condition: () => boolean): Promise<void> {
  while (!condition()) {
    assert.equal(child.exit(), undefined, child.output())
    await new Promise((again) => setTimeout(again, 5))
  }
}

function untilOutput(child: RunningProcess, pattern: RegExp): Promise<void> {
  return until(child, () => pattern.test(child.output()))
}

function untilAcknowledged(child: RunningProcess, count: number): Promise<void> {
  return until(child, () => acknowledged(child).length >= count)
}

/** Resolves when the engine says that this process owns the store. */
async function untilNamed(engine: Engine, pid: number): Promise<void> {
  for (;;) {
    const ownership = await engine.ownership()
    assert.ok(ownership.state === 'other')
    if (ownership.holder.includes(String(pid))) return
  }
}

/** Declares the tests with several processes. */
export function processTests(declare: Declare): void {
  declare(
    'a process that is killed has lost nothing that it acknowledged, round after round',
    async ({ open, url }, lifetime) => {
      const engine = await open()
      const all: Acknowledged[] = []
      for (let round = 0; round < 3; round++) {
        const child = await startChild(lifetime, url, 'reserve', 'a')
        await untilAcknowledged(child, 5 + round * 7)
        await child.kill()
        const ranges = acknowledged(child)
        assert.ok(ranges.length > 0)
        all.push(...ranges)
        const { bound } = await engine.counter('a')
        assert.ok(ranges.every(({ end }) => end <= bound))
        all.push(await engine.reserve('a', { size: 3n, ...mine }))
      }
      assertDisjoint(all)
    },
    'durable',
    'shared',
  )

  declare(
    'ranges of several processes never overlap',
    async ({ open, url }, lifetime) => {
      const engine = await open()
      const children = await Promise.all([0, 1].map(() => startChild(lifetime, url, 'reserve', 'a')))
      const own: Acknowledged[] = []
      for (let each = 0; each < 30; each++) own.push(await engine.reserve('a', { size: 7n, ...mine }))
      for (const child of children) await untilAcknowledged(child, 20)
      for (const child of children) await child.kill()
      assertDisjoint([...own, ...children.flatMap(acknowledged)])
    },
    'shared',
  )

  declare(
    'a record is created by exactly one of several processes',
    async ({ open, url }, lifetime) => {
      const engine = await open()
      const children = await Promise.all([0, 1].map(() => startChild(lifetime, url, 'create', '40')))
      await Promise.all(children.map(({ exited }) => exited))
      const won = children.flatMap((child) =>
        [...child.output().matchAll(/^won (\S+)$/gm)].map(([, key]) => key),
      )
      assert.equal(won.length, 40, children.map((child) => child.output()).join('\n'))
      assert.equal(new Set(won).size, 40)
      assert.equal((await engine.list('race/')).length, 40)
    },
    'shared',
  )

  declare(
    'a watch tells of what another process writes and removes',
    async ({ open, url }, lifetime) => {
      const engine = await open()
      const changes: RecordChange[] = []
      const told = Promise.withResolvers<void>()
      await engine.watch('race/', (change) => {
        changes.push(change)
        if (change.key === 'race/2') told.resolve()
      })
      const child = await startChild(lifetime, url, 'create', '3')
      await told.promise
      await child.exited
      assert.deepEqual(
        changes.map(({ key }) => key),
        ['race/0', 'race/1', 'race/2'],
      )
    },
    'shared',
  )

  declare(
    'one process owns the store; when it is killed, another takes its place',
    async ({ open, url }, lifetime) => {
      const child = await startChild(lifetime, url, 'own')
      await untilOutput(child, /^owner$/m)
      const engine = await open()
      await untilNamed(engine, child.pid)
      await child.kill()
      assert.deepEqual(await engine.ownership(), { state: 'owner' })
      const late = await startChild(lifetime, url, 'own')
      await untilOutput(late, /^other$/m)
      await engine.close()
      await untilOutput(late, /^owner$/m)
    },
    'shared',
    'owned',
  )

  declare(
    'a process that stands still keeps what it owns',
    async ({ open, url }, lifetime) => {
      const child = await startChild(lifetime, url, 'own')
      await untilOutput(child, /^owner$/m)
      const engine = await open()
      await untilNamed(engine, child.pid)
      child.signal('SIGSTOP')
      assert.equal((await engine.ownership()).state, 'other')
      child.signal('SIGCONT')
      await child.kill('SIGTERM')
      assert.equal((await engine.ownership()).state, 'owner')
    },
    'shared',
    'owned',
  )

  declare(
    'of several openings in one process, one is the owner until it closes',
    async ({ open }) => {
      const engines = [await open(), await open(), await open()]
      const states = async () => Promise.all(engines.map(async (engine) => (await engine.ownership()).state))
      const before = await states()
      assert.equal(before.filter((state) => state === 'owner').length, 1)
      assert.deepEqual(await states(), before)
      const [owner] = engines.splice(before.indexOf('owner'), 1)
      await owner!.close()
      assert.equal((await states()).filter((state) => state === 'owner').length, 1)
    },
    'owned',
  )

  declare(
    'an open engine without calls does not keep its process alive',
    async ({ url }, lifetime) => {
      const child = await startChild(lifetime, url, 'idle')
      const exit = await child.exited
      assert.deepEqual(exit, { code: 0, signal: null }, child.output())
      assert.equal(child.output(), 'opened\n')
    },
    'shared',
  )

  declare(
    'a call under way keeps its process alive until it is answered',
    async ({ url }, lifetime) => {
      const child = await startChild(lifetime, url, 'once')
      assert.deepEqual(await child.exited, { code: 0, signal: null }, child.output())
      assert.equal(acknowledged(child).length, 1)
    },
    'shared',
  )
}
