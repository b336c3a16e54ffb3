/** fahao-client in workerd, the runtime of Cloudflare's Workers: clients that live for one request of a Worker. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import { startProcess } from '../launch/process.ts'
import type { Observed } from './exercise.ts'
import { assertExercised, createGenerators } from './expectations.ts'
import { bundle, installed, makeProject } from './project.ts'

const scope = new Scope()
let server: FahaoServer
let port: number

/** Before that date, fetch takes no `cache`. */
const oldestDate = '2024-11-11'
const configuration = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "ids", worker = .ids),
    (name = "net", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", http = (), service = "ids")],
);
const ids :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "${oldestDate}",
  globalOutbound = "net",
);
`

before(
  async () => {
    const project = await makeProject(scope)
    await bundle(project, 'edge.js', 'worker.js')
    writeFileSync(join(project, 'workerd.capnp'), configuration)
    server = await startFahao(scope)
    port = await freePort()
    await startProcess(scope, {
      command: installed('@cloudflare/workerd-*/bin/workerd'),
      args: ['serve', 'workerd.capnp', `--socket-addr=http=127.0.0.1:${port}`],
      cwd: project,
      readyWhen: { port },
      readyWithinMs: 60_000,
    })
  },
  { timeout: 300_000 },
)
after(() => scope.end())

test('requests at the same moment each take ids of each kind, and return what is left', async () => {
  const admin = await server.connect()
  const prefixes = ['first', 'second', 'third']
  for (const prefix of prefixes) await createGenerators(admin, prefix)
  const answers = await Promise.all(
    prefixes.map((prefix) => {
      const body = JSON.stringify([server.http, prefix])
      return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })
    }),
  )
  for (const [at, answer] of answers.entries()) {
    assert.equal(answer.status, 200)
    await assertExercised((await answer.json()) as Observed, prefixes[at]!, server, admin)
  }
})
