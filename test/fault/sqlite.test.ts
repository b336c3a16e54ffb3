/** The disk under a SQLite store fails, fills up, slows down: nothing twice, clear words, and on by itself. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openEngine } from '../../src/engine/open.ts'
import { assertDisjoint } from '../conformance/counters.ts'
import { engineOptions } from '../conformance/store-under-test.ts'
import { atEnd } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, requireProgram, startProcess } from '../launch/process.ts'

type Acknowledged = { readonly start: bigint; readonly end: bigint }

const limits = { timeout: 60_000 }
const mounting = process.getuid?.() === 0 ? limits : { ...limits, skip: 'only root can mount a small disk' }

/** A process that reserves from the store; `fault` is what strace injects into its system calls. */
function startReserving(t: TestContext, url: string, fault?: string): Promise<RunningProcess> {
  const program = [process.execPath, join(import.meta.dirname, 'sqlite-process.ts'), url]
  const inject = (what: string) => {
    requireProgram('strace')
    const calls = `trace=${what.split(':')[0]}`
    return ['strace', '-D', '-f', '--seccomp-bpf', '-o', '/dev/null', '-e', calls, '-e', `inject=${what}`]
  }
  const [command = '', ...args] = [...(fault === undefined ? [] : inject(fault)), ...program]
  return startProcess(t, { command, args, readyWhen: { line: /^opened$/m } })
}

/** What it has printed so far, without a line that its death cut short. */
function printed(running: RunningProcess) {
  const lines = running.output().split('\n').slice(0, -1)
  const of = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))
  const ranges = of('range').map((line): Acknowledged => {
    const [start = '', end = ''] = line.split(' ')
    return { start: BigInt(start), end: BigInt(end) }
  })
  return { ranges, errors: of('error'), events: of('event'), lag: Number(of('lag')[0]) }
}

async function until(running: RunningProcess, condition: () => boolean): Promise<void> {
  while (!condition()) {
    assert.equal(running.exit(), undefined, running.output().slice(-2000))
    await pause(10)
  }
}

async function untilMoreRanges(running: RunningProcess, more: number): Promise<void> {
  const before = printed(running).ranges.length
  await until(running, () => printed(running).ranges.length >= before + more)
}

/** Opens the store as the next process would, and holds what it says against what was acknowledged. */
async function assertKept(url: string, ranges: readonly Acknowledged[]): Promise<void> {
  assertDisjoint(ranges)
  const engine = await openEngine(url, engineOptions())
  try {
    const { bound } = await engine.counter('a')
    for (const { end } of ranges) assert.ok(end <= bound, `${end} was acknowledged, the bound is ${bound}`)
    assert.deepEqual(engine.status(), { state: 'up' })
    assertDisjoint([...ranges, await engine.reserve('a', { size: 5n, incarnation: 1n })])
  } finally {
    await engine.close()
  }
}

describe('a SQLite store', () => {
  test('goes on after a sync has failed, again and again, without a restart', limits, async (t) => {
    const url = `sqlite:${temporaryFolder(t)}/fahao.db`
    const running = await startReserving(t, url, 'fsync,fdatasync:error=EIO:when=20+9')
    await until(running, () => printed(running).errors.length >= 8)
    await untilMoreRanges(running, 5)
    await running.kill()
    const { ranges, errors, events } = printed(running)
    assert.ok(errors.some((error) => /^UNKNOWN .* I\/O error: look at the disk/.test(error)))
    assert.ok(events.some((event) => /works again/.test(event)))
    await assertKept(url, ranges)
  })

  test('goes on after writes have failed', limits, async (t) => {
    const url = `sqlite:${temporaryFolder(t)}/fahao.db`
    const running = await startReserving(t, url, 'pwrite64:error=EIO:when=80..120')
    await until(running, () => printed(running).errors.length > 0)
    await until(running, () => /works again/.test(printed(running).events.at(-1) ?? ''))
    await untilMoreRanges(running, 5)
    await running.kill()
    await assertKept(url, printed(running).ranges)
  })

  test(
    'acknowledges nothing that it could not sync, and keeps the rest through kill -9',
    limits,
    async (t) => {
      const url = `sqlite:${temporaryFolder(t)}/fahao.db`
      const running = await startReserving(t, url, 'fsync,fdatasync:error=EIO:when=40+')
      await until(running, () => printed(running).errors.length >= 5)
      const before = printed(running).ranges
      await until(running, () => printed(running).errors.length >= 15)
      await running.kill()
      const { ranges, errors } = printed(running)
      assert.deepEqual(ranges, before)
      assert.ok(errors.every((error) => /I\/O error: look at the disk/.test(error)))
      assert.match(errors.at(-1)!, /^UNAVAILABLE /)
      await assertKept(url, ranges)
    },
  )

  test('says that its disk is full, and goes on once it is not', mounting, async (t) => {
    const disk = mountSmallDisk(t)
    const url = `sqlite:${disk}/data/fahao.db`
    mkdirSync(join(disk, 'data'))
    const running = await startReserving(t, url)
    await untilMoreRanges(running, 10)
    // Moving the log into the database frees a little again, so it is filled again.
    await until(running, () => {
      fill(join(disk, 'filler'))
      return printed(running).errors.length >= 5
    })
    rmSync(join(disk, 'filler'))
    await until(running, () => /works again/.test(printed(running).events.at(-1) ?? ''))
    await untilMoreRanges(running, 10)
    await running.kill()
    const { ranges, errors } = printed(running)
    assert.ok(
      errors.some((error) => /on a full disk: free some space/.test(error)),
      errors.join('\n'),
    )
    await assertKept(url, ranges)
  })

  test('on a read-only disk is refused with what to do', mounting, async (t) => {
    const disk = mountSmallDisk(t)
    const url = `sqlite:${disk}/fahao.db`
    await (await openEngine(url, engineOptions())).close()
    execFileSync('mount', ['-o', 'remount,ro', disk])
    await assert.rejects(openEngine(url, engineOptions()), {
      code: 'ENGINE',
      message: /let this user (read and )?write the file and its folder/,
    })
  })

  test('stops no event loop while a sync takes a second', limits, async (t) => {
    const url = `sqlite:${temporaryFolder(t)}/fahao.db`
    const running = await startReserving(t, url, 'fsync,fdatasync:delay_enter=1000000:when=30+')
    await until(running, () => printed(running).ranges.length > 15)
    await untilMoreRanges(running, 2)
    running.signal('SIGTERM')
    await running.exited
    const { ranges, errors, lag } = printed(running)
    assert.deepEqual(errors, [])
    assert.ok(lag < 800, `the event loop stood still for ${lag} ms`)
    await assertKept(url, ranges)
  })
})

/** A disk of a few megabytes that is there until the test ends. */
function mountSmallDisk(t: TestContext): string {
  const disk = temporaryFolder(t)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', disk])
  atEnd(t, () => execFileSync('umount', ['-l', disk]))
  return disk
}

function fill(file: string): void {
  for (let size = 2 ** 16; size >= 512; size /= 2) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(size))
    } catch {
      // Full, for pieces of this size.
    }
  }
}
