/** `serve --processes`: several nodes kept running by one process, and what becomes of them when either falls. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startEtcd } from '../launch/etcd.ts'
import { atEnd, Scope } from '../launch/lifetime.ts'
import { freePorts } from '../launch/places.ts'
import { accepts, type RunningProcess, startProcess } from '../launch/process.ts'
import { descendants, isAlive, processTree } from '../launch/process-tree.ts'
import { RawClient } from '../launch/raw-client.ts'
import type { View } from './cluster-start.ts'

const entry = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'fahao.js')
const leaseTtlMs = 2000
const restarts = /the process of 127\.0\.0\.1:\d+ has ended \(SIGKILL\), and is started again in 1 s/g
const several = ['--cluster', 'ids', '--processes', '2']

/** One started with `--processes`, and where its nodes are. */
type Started = {
  readonly run: RunningProcess
  readonly processes: number
  /** Port of the first node's RESP; HTTP is on the next one, and the second node follows. */
  readonly port: number
}

describe('serve --processes', () => {
  const scope = new Scope()
  let engines: () => string
  before(async () => {
    const etcd = await startEtcd(scope)
    let count = 0
    engines = () => etcd.url(`ids${++count}`)
  })
  after(() => scope.end())

  function serve(
    t: TestContext,
    port: number,
    engine: string,
    args: readonly string[],
  ): Promise<RunningProcess> {
    const doors = ['--resp', `127.0.0.1:${port}`, '--http', `127.0.0.1:${port + 1}`]
    return startProcess(t, {
      command: process.execPath,
      args: [entry, 'serve', '--engine', engine, ...doors, '--lease-ttl', `${leaseTtlMs}ms`, ...args],
    })
  }

  async function start(
    t: TestContext,
    engine = engines(),
    processes = 2,
    args: readonly string[] = [],
  ): Promise<Started> {
    const port = await freePorts(2 * processes)
    const run = await serve(t, port, engine, [...several, '--processes', `${processes}`, ...args])
    const started = { run, processes, port }
    await settled(started)
    return started
  }

  it('runs nodes of one cluster on ports in a row, and stops them without a gap', async (t) => {
    const engine = engines()
    const started = await start(t, engine, 3)
    const views = await Promise.all(portsOf(started).map(viewAt))
    for (const view of views) {
      const addresses = view!.nodes.map(({ resp }) => resp).sort()
      assert.deepEqual(
        addresses,
        portsOf(started)
          .map((port) => `127.0.0.1:${port}`)
          .sort(),
      )
    }
    const workers = await Promise.all(
      portsOf(started).map(async (port) => {
        await ask(t, port, 'ID.CREATE', 'event', 'KIND', 'snowflake').catch(() => {})
        await ask(t, port, 'ID.NEXT', 'event')
        return /worker_id:(\d+)/.exec(String(await ask(t, port, 'INFO')))![1]
      }),
    )
    assert.equal(new Set(workers).size, 3, 'each has a worker id of its own')

    const first = await newId(started)
    const pids = processTree(started.run.pid)
    process.kill(started.run.pid, 'SIGTERM')
    assert.deepEqual(await started.run.exited, { code: 0, signal: null }, started.run.output())
    assert.deepEqual(pids.filter(isAlive), [])
    assert.equal(await newId(await start(t, engine)), first + 1)
  })

  it('starts nodes again that were killed, all at once too, at their ports', async (t) => {
    const started = await start(t)
    const first = await newId(started)
    for (const pid of descendants(t, started.run.pid)) process.kill(pid, 'SIGKILL')
    while (started.run.output().match(restarts)?.length !== 2) await pause(10)
    assert.deepEqual(
      descendants(t, started.run.pid),
      [],
      'not at once: one that cannot start must not take a core',
    )
    const second = await newId(started)
    assert.ok(second > first, `${second} after ${first}`)
    await settled(started)
  })

  it('tries again where the system has no room for another process', async (t) => {
    const started = await start(t)
    const { pid } = started.run
    const limit = (files: number) => execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}:4096`])
    limit(readdirSync(`/proc/${pid}/fd`).length - 2)
    process.kill(descendants(t, started.run.pid)[0]!, 'SIGKILL')
    const refusal = /has ended \(.*EMFILE\), and is started again in 2 s/
    while (!refusal.test(started.run.output())) await pause(10)
    limit(4096)
    await settled(started)
  })

  it('starts nothing any more once it was told to stop', async (t) => {
    const etcd = await startEtcd(t)
    // So that none is ready before it is told.
    etcd.members[0]!.freeze()
    const early = await serve(t, await freePorts(4), etcd.url('ids'), several)
    while (processTree(early.pid).length < 2) await pause(1)
    process.kill(early.pid, 'SIGTERM')
    assert.deepEqual(await early.exited, { code: 0, signal: null }, early.output())
    assert.doesNotMatch(early.output(), /ready/)

    const { run } = await start(t)
    for (const pid of descendants(t, run.pid)) process.kill(pid, 'SIGKILL')
    // Before that it would be a node that was killed while it stopped.
    while (run.output().match(restarts)?.length !== 2) await pause(1)
    process.kill(run.pid, 'SIGTERM')
    assert.deepEqual(await run.exited, { code: 0, signal: null }, run.output())
    assert.equal(run.output().match(/joined the cluster/g)?.length, 2, 'each of them once')
  })

  it('ends its nodes where it falls itself, and nothing is lost', async (t) => {
    const engine = engines()
    const started = await start(t, engine)
    const first = await newId(started)
    const nodes = descendants(t, started.run.pid)
    process.kill(started.run.pid, 'SIGKILL')
    while (nodes.some(isAlive)) await pause(10)
    assert.equal(await newId(await start(t, engine)), first + 1)
  })

  it('lets its nodes stop in peace where it is killed after it told them to', async (t) => {
    const etcd = await startEtcd(t)
    const started = await start(t, etcd.url('ids'))
    const nodes = descendants(t, started.run.pid)
    // So that the stop takes a while.
    etcd.members[0]!.freeze()
    process.kill(started.run.pid, 'SIGTERM')
    await pause(700)
    process.kill(started.run.pid, 'SIGKILL')
    await pause(100)
    etcd.members[0]!.thaw()
    while (nodes.some(isAlive)) await pause(10)
    while (started.run.output().match(/"stopped"/g)?.length !== 2) await pause(10)
    assert.doesNotMatch(started.run.output(), /ending at once/)
  })

  it('does not wait for a node that hangs when it is told to stop a second time', async (t) => {
    const started = await start(t)
    const nodes = descendants(t, started.run.pid)
    process.kill(nodes[0]!, 'SIGSTOP')
    process.kill(started.run.pid, 'SIGTERM')
    while (!/stopping 2 processes/.test(started.run.output())) await pause(10)
    await pause(600)
    assert.equal(started.run.exit(), undefined, 'it waits for the one that hangs')
    process.kill(started.run.pid, 'SIGTERM')
    assert.deepEqual(await started.run.exited, { code: null, signal: 'SIGTERM' })
    while (nodes.some(isAlive)) await pause(10)
  })

  it('does not wait for it longer than a stop may take either, and says so', async (t) => {
    const { run } = await start(t, engines(), 2, ['--shutdown-timeout', '1s', '--call-timeout', '1s'])
    const nodes = descendants(t, run.pid)
    process.kill(nodes[0]!, 'SIGSTOP')
    process.kill(run.pid, 'SIGTERM')
    assert.deepEqual(await run.exited, { code: 1, signal: null })
    assert.match(run.output(), /fahao: the process of 127\.0\.0\.1:\d+ ended while it stopped \(SIGKILL\)/)
    assert.deepEqual(nodes.filter(isAlive), [])
  })

  it('says once what is wrong for all of them, and ends', async (t) => {
    const run = await serve(t, await freePorts(4), 'memory:', several)
    assert.deepEqual(await run.exited, { code: 2, signal: null })
    assert.equal(
      run.output().match(/a cluster needs an engine that its nodes share/g)?.length,
      1,
      run.output(),
    )
    assert.match(run.output(), /the process of 127\.0\.0\.1:\d+ ended before it served \(exit code 2\)/)
  })

  it('ends all when one finds its port taken', async (t) => {
    const port = await freePorts(4)
    const holder = createServer().listen(port + 2, '127.0.0.1')
    atEnd(t, () => holder.close())
    await once(holder, 'listening')
    const run = await serve(t, port, engines(), several)
    assert.deepEqual(await run.exited, { code: 2, signal: null }, run.output())
    assert.match(run.output(), /EADDRINUSE/)
    assert.equal(await accepts(port), false)
  })
})

function portsOf({ port, processes }: Started): readonly number[] {
  return Array.from({ length: processes }, (_, at) => port + 2 * at)
}

async function viewAt(port: number): Promise<View | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port + 1}/v1/cluster`).catch(() => undefined)
  return answer?.ok ? ((await answer.json()) as View) : undefined
}

/** Resolves when all see each other, and every shard led by whom it should be. */
async function settled(started: Started): Promise<void> {
  const { run, processes } = started
  for (;;) {
    const views = await Promise.all(portsOf(started).map(viewAt))
    const isSettled = (view: View | undefined) =>
      view?.nodes.length === processes &&
      view.shards.every(({ leader, wanted }) => leader !== null && leader === wanted)
    if (views.every(isSettled)) return
    assert.equal(run.exit(), undefined, run.output())
    await pause(20)
  }
}

/** The next id of a sequence, through any node that answers. */
async function newId(started: Started): Promise<number> {
  for (;;) {
    for (const port of portsOf(started)) {
      const url = `http://127.0.0.1:${port + 1}/v1/generators/order`
      const body = JSON.stringify({ kind: 'sequence' })
      await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body }).catch(
        () => {},
      )
      const headers = { accept: 'text/plain' }
      const answer = await fetch(`${url}/next`, { method: 'POST', headers }).catch(() => undefined)
      if (answer?.ok) return Number(await answer.text())
    }
    await pause(20)
  }
}

async function ask(t: TestContext, port: number, ...command: string[]): Promise<unknown> {
  return (await RawClient.connect(port, t)).command(...command)
}
