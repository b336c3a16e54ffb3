/**
 * `kill -9` at random and at named points, under load, again and again on one store: no id twice, none above a
 * durable bound, strict order kept over all lives. FAULT_ROUNDS sets how often (`npm run test:fault`: 200).
 */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { requireProgram } from '../launch/process.ts'
import { type Ask, Load, nowUs } from './load.ts'
import { isCovered } from './stored.ts'

const rounds = Number(process.env.FAULT_ROUNDS ?? 16)
const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
const asks: Ask[] = kinds.flatMap((kind) => [
  { generator: kind, command: ['INCR', kind] },
  { generator: kind, command: ['ID.NEXT', kind] },
  { generator: kind, command: ['ID.NEXT', kind, 'COUNT', 7] },
])

/** Signals and delays that strace puts into the very system calls of a commit. */
function inject(what: string): readonly string[] {
  requireProgram('strace')
  return [
    'strace',
    '-D',
    '-f',
    '--seccomp-bpf',
    '-o',
    '/dev/null',
    '-e',
    'trace=pwrite64,fsync,fdatasync',
    '-e',
    `inject=${what}`,
  ]
}

/** Where a life ends. `when` counts calls since the start, beyond those of opening the store. */
const points = {
  'at any moment': () => [],
  'before a reserve is written': () => inject(`pwrite64:signal=SIGKILL:when=${12 + random(120)}`),
  'in the middle of a sync': () => inject(`fsync,fdatasync:signal=SIGKILL:when=${6 + random(60)}`),
  'between a sync and its answer': () => inject('fsync,fdatasync:delay_exit=15000:when=8+'),
} as const

function random(below: number): number {
  return Math.floor(Math.random() * below)
}

describe('a server that is killed', () => {
  it(`repeats nothing and keeps order over ${rounds} lives`, { timeout: 1_800_000 }, async (t) => {
    const server = await startFahao({ after }, { args: ['--log-level', 'warn'] })
    const setup = await server.connect()
    for (const kind of kinds) {
      const small = kind === 'sequence' || kind === 'segment' ? ['STEP', '20', 'HORIZON', '5ms'] : []
      const short = kind === 'timestamp' ? ['HORIZON', '20ms'] : []
      assert.equal(await setup.command('ID.CREATE', kind, 'KIND', kind, ...small, ...short), 'OK')
    }
    const load = new Load()
    const names = Object.keys(points) as (keyof typeof points)[]
    for (let round = 0; round < rounds; round++) {
      const point = names[round % names.length]!
      await server.restart({ wrapper: points[point](), args: ['--lead', '1s', '--log-level', 'warn'] })
      const before = load.count
      load.start([server.resp], asks)
      await Promise.race([pause(150 + random(250)), server.exited])
      await server.kill('SIGKILL')
      await load.stop()
      assert.ok(load.count > before, `round ${round} (${point}) issued nothing: ${server.output()}`)
      for (const kind of kinds) {
        const { highest } = load.journal(kind)
        assert.ok(
          isCovered(server.file, kind, kind, highest),
          `${kind} ${highest} is above its bound (${point})`,
        )
      }
    }
    for (const kind of kinds) {
      const journal = load.journal(kind)
      assert.deepEqual(journal.repeated(), [], `${kind} repeats`)
      assert.deepEqual(journal.notIncreasing(), [], `${kind} goes back on a connection`)
      if (kind === 'sequence' || kind === 'timestamp')
        assert.deepEqual(journal.outOfOrder(), [], `${kind} order`)
      t.diagnostic(`${kind}: ${journal.count} ids over ${rounds} lives`)
    }
  })

  it('is back within two seconds, with fifty clients waiting for it', async (t) => {
    const server = await startFahao(
      { after },
      { args: ['--auto-create', '*=sequence', '--log-level', 'warn'] },
    )
    const load = new Load()
    const crowd: Ask[] = Array.from({ length: 50 }, () => ({
      generator: 'crowd',
      command: ['INCR', 'crowd'],
    }))
    load.start([server.resp], crowd)
    await pause(300)
    await server.kill('SIGKILL')
    await load.stop()
    const killedUs = nowUs()
    await server.start()
    load.start([server.resp], crowd)
    const before = load.count
    while (load.count < before + 50) await pause(5)
    const backMs = (nowUs() - killedUs) / 1000
    await load.stop()
    t.diagnostic(`back after ${backMs.toFixed(0)} ms`)
    assert.ok(backMs < 2000, `it took ${backMs} ms`)
    assert.deepEqual(load.journal('crowd').repeated(), [])
    assert.deepEqual(load.journal('crowd').outOfOrder(), [])
  })

  it('goes on without a gap after SIGTERM', async () => {
    const server = await startFahao(
      { after },
      { args: ['--auto-create', '*=sequence', '--log-level', 'warn'] },
    )
    const load = new Load()
    for (let life = 0; life < 3; life++) {
      load.start(
        [server.resp],
        Array.from({ length: 8 }, () => ({ generator: 'order', command: ['INCR', 'order'] })),
      )
      await pause(200)
      // Clients first: a reply that a closing server sends to nobody would look like a gap.
      await load.stop()
      assert.deepEqual(await server.kill('SIGTERM'), { code: 0, signal: null }, server.output())
      await server.start()
    }
    const journal = load.journal('order')
    assert.equal(journal.gaps(), 0n)
    assert.deepEqual(journal.repeated(), [])
  })
})
