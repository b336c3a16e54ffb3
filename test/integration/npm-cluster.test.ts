/** `npm run cluster` as people run it: started, looked at, and ended by Ctrl-C with nothing left behind. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, freePorts, temporaryFolder } from '../launch/places.ts'
import { accepts, type RunningProcess, startProcess } from '../launch/process.ts'
import { descendants, isAlive, processTree } from '../launch/process-tree.ts'

const repository = join(import.meta.dirname, '..', '..')
const entry = join(repository, 'dist', 'fahao.js')

type Trial = { readonly script: RunningProcess; readonly port: number; readonly folder: string }

/** Starts the script in a group of its own, with its data in a folder of its own; resolves when it prints `line`. */
async function startTrial(t: TestContext, line: RegExp): Promise<Trial> {
  const folder = temporaryFolder(t)
  const port = await freePorts(6)
  const script = await startProcess(t, {
    command: process.execPath,
    args: ['scripts/cluster.ts', '--lease-ttl', '1s'],
    cwd: repository,
    env: { CLUSTER_PORT: `${port}`, TMPDIR: folder },
    readyWhen: { line },
    readyWithinMs: 60_000,
  })
  return { script, port, folder }
}

/** As a terminal does it, and npm once more. */
async function interrupt({ script }: Trial, signal: NodeJS.Signals): Promise<void> {
  script.signal(signal)
  await pause(20)
  script.signal(signal)
}

function fahao(...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd: repository, timeout: 30_000 }
    execFile(process.execPath, [entry, ...args], options, (_, out, err) => resolve(out + err))
  })
}

async function assertNothingLeft(
  trial: Trial,
  children: readonly number[],
  sent: NodeJS.Signals,
): Promise<void> {
  const { script, folder } = trial
  const { code, signal } = await script.exited
  // The second signal ends a process that is about to exit: Node has given up its handlers by then.
  assert.ok(code === 0 || signal === sent, `code ${code}, signal ${signal}: ${script.output()}`)
  assert.deepEqual(children.filter(isAlive), [])
  assert.deepEqual(readdirSync(folder), [])
}

test('Ctrl-C ends the trial cluster, heard twice as it is, and its data goes', async (t) => {
  const trial = await startTrial(t, /^node 3 has process id/)
  const { script, port } = trial
  const children = descendants(t, trial.script.pid)
  assert.equal(children.length, 6, 'three members of etcd, three nodes')

  await t.test('a RESP port in the place of the HTTP one is told apart', async () => {
    const said = await fahao('cluster', 'status', '--url', `http://127.0.0.1:${port}`)
    assert.match(said, /looks like a RESP port; --url wants the HTTP one/)
  })

  await t.test('a node whose HTTP port is taken says so, and does not join first', async () => {
    const engine = /^ids are kept in (\S+)$/m.exec(script.output())![1]!
    const cluster = ['--engine', engine, '--cluster', 'try', '--lease-ttl', '1s']
    const listeners = ['--resp', `127.0.0.1:${await freePort()}`, '--http', `127.0.0.1:${port + 1}`]
    const said = await fahao('serve', ...cluster, ...listeners)
    assert.match(said, /HTTP cannot listen on .*EADDRINUSE/)
    assert.doesNotMatch(said, /joined|left the cluster/)
  })

  await t.test('a node that was killed can be started again by the command that is printed', async () => {
    const pid = /^node 1 has process id (\d+)/m.exec(script.output())![1]!
    process.kill(Number(pid), 'SIGKILL')
    let command: string | undefined
    while (command === undefined) {
      command = /^ {2}npx fahao (serve .*)$/m.exec(script.output())?.[1]
      await pause(10)
    }
    assert.match(script.output(), /^node 1 has ended \(SIGKILL\)$/m)
    const again = await startProcess(t, {
      command: process.execPath,
      args: [entry, ...command.split(' ')],
      cwd: repository,
      readyWhen: { line: /joined the cluster/ },
    })
    assert.ok(await accepts(port))
    assert.deepEqual(await again.kill('SIGTERM'), { code: 0, signal: null })
  })

  await interrupt(trial, 'SIGINT')
  await assertNothingLeft(trial, children, 'SIGINT')
  const [, end = ''] = script.output().split('\nstopping\n')
  const ends = [2, 3].map((node) => `node ${node} has ended (exit code 0)`)
  assert.deepEqual(end.trim().split('\n').sort(), ends)
})

test('a terminal that is closed while the trial cluster starts leaves nothing either', async (t) => {
  const trial = await startTrial(t, /^starting three members/)
  while (processTree(trial.script.pid).length < 4) await pause(5)
  const children = descendants(t, trial.script.pid)
  const interrupted = interrupt(trial, 'SIGHUP')
  // As for a process that has not got a session of its own yet: its start fails.
  for (const child of children) {
    try {
      process.kill(child, 'SIGHUP')
    } catch {
      // The script has ended it already.
    }
  }
  await interrupted
  await assertNothingLeft(trial, children, 'SIGHUP')
  assert.doesNotMatch(trial.script.output(), /three nodes are up/)
})
