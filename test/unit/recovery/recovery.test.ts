import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import { Recovery, type RecoverySteps } from '../../../src/recovery/recovery.ts'
import { FakeClock } from '../fake-clock.ts'

/** An engine that has forgotten until bounds have been raised `raises` times, and what is done about it. */
function setUp(gap: bigint, raises = 1, changes: Partial<RecoverySteps> = {}) {
  const clock = new FakeClock()
  const said: string[] = []
  const did: string[] = []
  const recovery = new Recovery({
    clock,
    random: () => 0.5,
    gap,
    onEvent: ({ level, message }) => said.push(`${level} ${message}`),
  })
  const state = { raised: 0 }
  const steps: RecoverySteps = {
    isRegressed: async () => state.raised < raises,
    confirmWorker: async () => void did.push('confirm'),
    advance: async (by) => {
      did.push(`advance ${by}`)
      state.raised++
      return 3
    },
    reload: async () => void did.push('reload'),
    ...changes,
  }
  return { clock, said, did, recovery, steps, state }
}

describe('a failover with a gap', () => {
  test('looks at the worker id, raises the bounds once, and reads everything anew', async () => {
    const { recovery, steps, did, said, clock } = setUp(500n)
    recovery.start(steps)
    recovery.reportLoss('a replica')
    recovery.reportLoss('a replica, says another call')
    assert.match(recovery.trouble!, /forgotten writes: a replica; .*failover-gap raises every bound by 500/)
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'advance 500', 'reload'])
    assert.equal(recovery.trouble, undefined)
    assert.equal(recovery.count, 1)
    assert.deepEqual(
      said.map((line) => line.split(' ', 1)[0]),
      ['error', 'warn', 'warn'],
    )
  })

  test('deals with what was noticed before the node was complete', async () => {
    const { recovery, steps, did, clock } = setUp(500n)
    recovery.reportLoss('a replica')
    recovery.start(steps)
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'advance 500', 'reload'])
  })

  test('looks at the worker id and reads everything anew where only others have noticed', async () => {
    const { recovery, steps, did, said, clock } = setUp(500n)
    recovery.start(steps)
    recovery.reportAdvance()
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'reload'])
    assert.deepEqual(said, ['warn every bound has been raised: this node has read its records anew'])
    assert.equal(recovery.count, 0)
  })

  test('reads everything anew once more when others raise the bounds while it does', async () => {
    const reloaded = Promise.withResolvers<void>()
    const { recovery, steps, did, clock } = setUp(500n)
    const begun: number[] = []
    recovery.start({
      ...steps,
      reload: async () => {
        if (begun.push(1) === 1) await reloaded.promise
      },
    })
    recovery.reportAdvance()
    await clock.pass(1)
    recovery.reportAdvance()
    reloaded.resolve()
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'confirm'])
    assert.equal(begun.length, 2)
  })

  test('raises bounds when it notices a loss while it reads anew after an advance of others', async () => {
    const { recovery, steps, did, clock } = setUp(500n)
    recovery.start({
      ...steps,
      reload: async () => {
        if (did.push('reload') === 2) recovery.reportLoss('a replica')
      },
    })
    recovery.reportAdvance()
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'reload', 'confirm', 'advance 500', 'reload'])
    assert.equal(recovery.trouble, undefined)
    assert.equal(recovery.count, 1)
  })

  test('raises nothing when another node has done so meanwhile', async () => {
    const { recovery, steps, did, clock, state } = setUp(500n)
    recovery.start(steps)
    recovery.reportLoss('a replica')
    state.raised = 1
    await clock.pass(5000)
    assert.deepEqual(did, ['confirm', 'reload'])
  })

  test('goes on, slower from time to time, while the gap was too small or the engine cannot be reached', async () => {
    let away = 3
    const { recovery, steps, did, said, clock } = setUp(500n, 2, {
      confirmWorker: async () => {
        if (away-- > 0) throw new FahaoError('UNAVAILABLE', 'no answer')
      },
    })
    recovery.start(steps)
    recovery.reportLoss('a replica')
    await clock.pass(3000)
    assert.ok(did.length < 4)
    await clock.pass(60_000)
    assert.deepEqual(did, [...Array(2).fill('advance 500'), 'reload'])
    assert.equal(said.filter((line) => line.includes('no answer')).length, 1)
  })

  test('stops at the third loss within ten minutes, until bounds are raised by hand', async () => {
    const { recovery, steps, did, said, clock, state } = setUp(500n)
    recovery.start(steps)
    const lose = async () => {
      state.raised = 0
      recovery.reportLoss('this is server b')
      await clock.pass(20_000)
    }
    for (let times = 0; times < 3; times++) await lose()
    await clock.pass(20 * 60_000)
    assert.equal(did.filter((step) => step === 'advance 500').length, 2)
    assert.match(
      recovery.trouble!,
      /this is server b; .* stops: .* several servers .* `fahao advance --by N`/,
    )
    assert.equal(said.filter((line) => line.includes('take turns')).length, 1)
    state.raised = 1
    await clock.pass(10_000)
    assert.equal(recovery.trouble, undefined)
    // Long after that, it is a failover again.
    await clock.pass(10 * 60_000)
    await lose()
    assert.equal(did.filter((step) => step === 'advance 500').length, 3)
    assert.equal(recovery.trouble, undefined)
  })

  test('leaves bounds to the operator where the engine refuses to be advanced by itself', async () => {
    let asked = 0
    const advance = async () => {
      asked++
      throw new FahaoError('REGRESSED', 'the database is from before')
    }
    const { recovery, steps, said, clock, state } = setUp(500n, 1, { advance })
    recovery.start(steps)
    recovery.reportLoss('another history')
    await clock.pass(60_000)
    assert.equal(asked, 1)
    assert.match(recovery.trouble!, /another history; .* is from before; .* `fahao advance --by N`/)
    assert.equal(said.filter((line) => line.includes('does not cover')).length, 1)
    state.raised = 1
    await clock.pass(10_000)
    assert.equal(recovery.trouble, undefined)
  })

  test('counts losses, and no attempt that has raised nothing', async () => {
    let failures = 4
    const { recovery, steps, did, clock } = setUp(500n)
    const { advance } = steps
    const failing = async (gap: bigint) => {
      if (failures-- > 0) throw new FahaoError('UNAVAILABLE', 'another node holds the lock')
      return advance(gap)
    }
    recovery.start({ ...steps, advance: failing })
    recovery.reportLoss('a replica')
    await clock.pass(60_000)
    assert.deepEqual(did, ['confirm', 'advance 500', 'reload'])
    assert.equal(recovery.trouble, undefined)
  })

  test('counts a loss once, however often the records after it cannot be read', async () => {
    let failures = 0
    const { recovery, steps, did, clock, state } = setUp(500n)
    const reload = async () => {
      if (failures-- > 0) throw new FahaoError('UNAVAILABLE', 'the engine is away')
      did.push('reload')
    }
    recovery.start({ ...steps, reload })
    for (let losses = 0; losses < 2; losses++) {
      failures = 2
      state.raised = 0
      recovery.reportLoss('a replica')
      await clock.pass(60_000)
    }
    assert.deepEqual(did, Array(2).fill(['confirm', 'advance 500', 'reload']).flat())
    assert.equal(recovery.trouble, undefined)
  })

  test('counts what other nodes have raised for the same reason', async () => {
    const { recovery, steps, did, clock, state } = setUp(500n)
    recovery.start(steps)
    for (let times = 0; times < 2; times++) {
      state.raised = 0
      recovery.reportLoss('this is server b')
      state.raised = 1
      await clock.pass(20_000)
    }
    state.raised = 0
    recovery.reportLoss('this is server b')
    await clock.pass(20_000)
    assert.ok(!did.includes('advance 500'))
    assert.match(recovery.trouble!, /stops/)
  })

  test('that is noticed anew after a recovery begins anew', async () => {
    const { recovery, steps, did, clock, state } = setUp(500n)
    recovery.start(steps)
    recovery.reportLoss('a replica')
    await clock.pass(5000)
    state.raised = 0
    recovery.reportLoss('another replica')
    await clock.pass(5000)
    assert.equal(did.filter((step) => step === 'advance 500').length, 2)
    assert.equal(recovery.count, 2)
  })

  test('does nothing any more once it is closed', async () => {
    const { recovery, steps, did, clock } = setUp(500n)
    recovery.start(steps)
    recovery.reportLoss('a replica')
    recovery.close()
    await clock.pass(60_000)
    assert.ok(!did.includes('advance 500'))
    assert.equal(clock.timers, 0)
  })
})

test('a failover without a gap raises nothing, says what to run, and resumes after an advance', async () => {
  const { recovery, steps, did, said, clock, state } = setUp(0n)
  recovery.start(steps)
  recovery.reportLoss('a replica')
  await clock.pass(60_000)
  assert.deepEqual(did, ['confirm'])
  assert.match(said[0]!, /^error .*fahao advance --by N/)
  state.raised = 1
  await clock.pass(10_000)
  assert.deepEqual(did, ['confirm', 'reload'])
  assert.equal(recovery.trouble, undefined)
})

describe('nodes on a store that an older copy takes the place of', () => {
  /** Starts nodes, lets them issue, and puts back a copy that has none of these ids. */
  async function forget(t: TestContext, gap: string, count: number) {
    const folder = mkdtempSync(join(tmpdir(), 'fahao-failover-'))
    const file = join(folder, 'fahao.db')
    const start = async () => {
      const flags = { engine: `sqlite:${file}`, 'failover-gap': gap }
      return startNode(loadConfig({ flags }).config)
    }
    const first = await start()
    await first.catalogue.create('seg', { kind: 'segment', step: 10, horizon: '1s' })
    await first.catalogue.create('snow', { kind: 'snowflake' })
    await first.close()
    copyFileSync(file, `${file}.copy`)
    const nodes = await Promise.all(Array.from({ length: count }, start))
    t.after(async () => {
      for (const node of nodes) await node.close()
      rmSync(folder, { recursive: true })
    })
    const ids = new Set<string>()
    const issue = async (node: FahaoNode, name: string, count: number) => {
      for (const run of await (await node.catalogue.open(name)).draw(count)) {
        for (let at = 0; at < run.count; at++) {
          const id = `${name} ${run.at(at)}`
          assert.ok(!ids.has(id), `${id} is issued again`)
          ids.add(id)
        }
      }
    }
    for (const node of nodes) {
      await issue(node, 'seg', 500)
      await issue(node, 'snow', 500)
    }
    renameSync(`${file}.copy`, file)
    rmSync(`${file}-wal`)
    const issueUntilNoticed = async (node: FahaoNode) => {
      await assert.rejects(
        async () => {
          for (let each = 0; each < 100; each++) await issue(node, 'seg', 100)
        },
        { code: 'REGRESSED' },
      )
    }
    return { nodes, issue, issueUntilNoticed }
  }

  /** Tries until it works. */
  async function eventually(task: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await task()
      } catch (error) {
        if (!(error instanceof FahaoError)) throw error
        await new Promise((done) => setTimeout(done, 50))
      }
    }
  }

  test('raise every bound by themselves where there is a gap, and repeat nothing', async (t) => {
    const { nodes, issue, issueUntilNoticed } = await forget(t, '100000', 1)
    await issueUntilNoticed(nodes[0]!)
    assert.equal(nodes[0]!.regressions, 1)
    for (const node of nodes) {
      for (const name of ['seg', 'snow']) await eventually(() => issue(node, name, 2000))
    }
    assert.equal(nodes[0]!.health().state, 'ok')
  })

  test('repeat nothing of a generator that was used for the first time in what is lost, by a process that has gone', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'fahao-failover-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'fahao.db')
    const flags = { engine: `sqlite:${file}`, 'failover-gap': '100000' }
    const withNode = async (task: (node: FahaoNode) => Promise<unknown>) => {
      const node = await startNode(loadConfig({ flags }).config)
      await task(node)
      await node.close()
    }
    const ids: bigint[] = []
    const issue = async ({ catalogue }: FahaoNode) => {
      for (const run of await (await catalogue.open('unused')).draw(5)) ids.push(run.first)
    }
    await withNode(({ catalogue }) => catalogue.create('unused', { kind: 'segment', start: 1000n }))
    copyFileSync(file, `${file}.copy`)
    await withNode(issue)
    copyFileSync(`${file}.copy`, file)
    await withNode((node) => eventually(() => issue(node)))
    assert.deepEqual(ids, [1000n, 101_000n])
  })

  test('go on by what is stored where that contradicts the config file, and say so once', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'fahao-failover-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'fahao.db')
    const said: string[] = []
    const start = (step: number) => {
      const flags = { engine: `sqlite:${file}`, 'failover-gap': '1000', config: 'fahao.yaml' }
      const readFile = () => `generators: { order: { kind: segment, step: ${step} } }`
      return startNode(loadConfig({ flags, readFile }).config, {
        onEvent: ({ message }) => said.push(message),
      })
    }
    const before = await start(10)
    await before.close()
    copyFileSync(file, `${file}.copy`)
    const changing = await startNode(loadConfig({ flags: { engine: `sqlite:${file}` } }).config)
    await changing.catalogue.alter('order', { step: 20 })
    await changing.close()
    const node = await start(20)
    const order = async () => void (await (await node.catalogue.open('order')).draw(1000))
    await order()
    renameSync(`${file}.copy`, file)
    rmSync(`${file}-wal`)
    await assert.rejects(async () => {
      for (let each = 0; each < 100; each++) await order()
    }, FahaoError)
    await eventually(async () => {
      if (node.health().state !== 'ok') throw new FahaoError('UNAVAILABLE', 'not yet')
    })
    await eventually(order)
    assert.equal(
      said.filter((line) => /contradicts .* step .* the stored definition stays/.test(line)).length,
      1,
    )
    await node.close()
  })

  test('wait for an advance on any one of them, and then both resume', async (t) => {
    const { nodes, issue, issueUntilNoticed } = await forget(t, '0', 2)
    for (const node of nodes) {
      await issueUntilNoticed(node)
      assert.match(node.health().reason!, /run `fahao advance --by N`/)
      assert.match(node.health().state, /degraded|down/)
    }
    await nodes[1]!.advance(100_000n)
    for (const node of nodes) {
      for (const name of ['seg', 'snow']) await eventually(() => issue(node, name, 2000))
    }
    await eventually(async () => {
      if (nodes.some((node) => node.health().state !== 'ok')) throw new FahaoError('UNAVAILABLE', 'not yet')
    })
  })
})
