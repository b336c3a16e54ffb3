/** fahao-client over the oldest version of the package redis that it names as a peer. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { installPackages } from '../launch/packages.ts'
import { startProcess } from '../launch/process.ts'
import { runProgram } from '../launch/program.ts'
import { assertExercised, createGenerators } from './expectations.ts'
import { makeProject } from './project.ts'

const scope = new Scope()
let server: FahaoServer
let project: string

describe('the oldest redis package', { timeout: 300_000 }, () => {
  before(async () => {
    await installPackages(import.meta.dirname, 'redis')
    project = await makeProject(scope, join(import.meta.dirname, 'node_modules', 'redis'))
    server = await startFahao(scope)
  })
  after(() => scope.end())

  test('issues ids of each kind', async () => {
    const admin = await server.connect()
    await createGenerators(admin, 'old')
    const url = `redis://127.0.0.1:${server.resp}`
    const printed = await runProgram([process.execPath, 'main.js', url, 'old'], { cwd: project })
    await assertExercised(JSON.parse(printed), 'old', server, admin)
    await admin.close()
  })

  test('outlives a node that ends, and goes on when it is back', async () => {
    const admin = await server.connect()
    assert.equal(await admin.command('ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
    await admin.close()
    const program = await startProcess(scope, {
      command: process.execPath,
      args: ['patient.js', `redis://127.0.0.1:${server.resp}`],
      cwd: project,
      readyWhen: { line: /has an id/ },
    })
    await server.kill()
    while (program.exit() === undefined && !program.output().includes('waits')) await pause(20)
    await server.start()
    assert.deepEqual(await program.exited, { code: 0, signal: null }, program.output())
    assert.match(program.output(), /^UNAVAILABLE true$/m)
  })
})
