/** fahao-client as it is published, in programs of Node, Deno and Bun, over RESP and HTTP. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { runProgram } from '../launch/program.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { assertExercised, createGenerators } from './expectations.ts'
import { findRuntimes, makeProject, type Runtime } from './project.ts'

const scope = new Scope()
let server: FahaoServer
let admin: RawClient
let project: string
let runtimes: ReadonlyMap<string, Runtime>

before(
  async () => {
    project = await makeProject(scope)
    runtimes = new Map((await findRuntimes(project)).map((runtime) => [runtime.name, runtime]))
    server = await startFahao(scope)
    admin = await server.connect()
  },
  { timeout: 300_000 },
)
after(() => scope.end())

/** Runs a program of the project in a runtime until it ends by itself; returns what it prints. */
function run(runtime: string, program: string, ...args: string[]): Promise<string> {
  const { command, threadFlags } = runtimes.get(runtime)!
  const flags = program === 'threads.js' ? threadFlags : []
  // A program that never ends fails its test, and does not stay.
  return runProgram(['timeout', '-k', '1', '120', ...command, ...flags, program, ...args], { cwd: project })
}

for (const runtime of ['Node', 'Deno', 'Bun']) {
  describe(runtime, { timeout: 300_000 }, () => {
    for (const protocol of ['RESP', 'HTTP']) {
      test(`issues ids of each kind over ${protocol}, returns what is left, and ends after close`, async () => {
        const prefix = `${runtime}:${protocol}`
        await createGenerators(admin, prefix)
        const url = protocol === 'RESP' ? `redis://127.0.0.1:${server.resp}` : server.http
        const printed = await run(runtime, 'main.js', url, prefix)
        await assertExercised(JSON.parse(printed), prefix, server, admin)
      })
    }

    test('a client over HTTP that is never closed does not keep the process alive', async () => {
      const prefix = `${runtime}:careless`
      await createGenerators(admin, prefix)
      const names = [`${prefix}:user`, `${prefix}:event`]
      const ids = JSON.parse(await run(runtime, 'careless.js', server.http, ...names))
      assert.deepEqual(Object.keys(ids), names)
    })

    test('a call waits until its time is over while no node can be reached, and says so', async () => {
      for (const url of ['redis://127.0.0.1:1', 'http://127.0.0.1:1'])
        assert.match(
          await run(runtime, 'alone.js', url),
          /^UNAVAILABLE no node has answered .*127\.0\.0\.1:1 /,
        )
    })

    test('worker threads with a client each never issue one id twice', async () => {
      const prefix = `${runtime}:threads`
      await createGenerators(admin, prefix)
      const names = ['order', 'user', 'event'].map((name) => `${prefix}:${name}`)
      const printed = await run(runtime, 'threads.js', `redis://127.0.0.1:${server.resp}`, '600', ...names)
      const answers: Record<string, string[]>[] = JSON.parse(printed)
      assert.equal(answers.length, 5)
      for (const name of names) {
        const ids = answers.flatMap((answer) => answer[name]!)
        assert.ok(ids.length >= 3000)
        assert.equal(new Set(ids).size, ids.length, name)
      }
    })
  })
}
