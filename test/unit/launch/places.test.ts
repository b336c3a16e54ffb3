import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort, freePorts } from '../../launch/places.ts'

const places = join(import.meta.dirname, '..', '..', 'launch', 'places.ts')

/** Ports that a process of its own is given; it ends when its input does, as a test that still uses them. */
function portsOfProcess(count: number) {
  const code = `import { freePort } from ${JSON.stringify(places)}
    const ports = []
    for (let each = 0; each < ${count}; each++) ports.push(await freePort())
    console.log(ports.join(' '))
    process.stdin.resume()`
  const running = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  const { stdin, stdout } = running.child
  return {
    given: new Promise((resolve) => stdout!.once('data', resolve)),
    async end() {
      stdin!.end()
      return (await running).stdout.split(' ').map(Number)
    },
  }
}

test('processes that choose ports at the same time are given different ones', async () => {
  const processes = [300, 300, 300].map(portsOfProcess)
  await Promise.all(processes.map(({ given }) => given))
  const ports = (await Promise.all(processes.map(({ end }) => end()))).flat()
  assert.equal(ports.length, 900)
  assert.equal(new Set(ports).size, 900)
})

test('calls at the same time are given different ports', async () => {
  const one = Array.from({ length: 50 }, freePort)
  const inRow = await Promise.all(Array.from({ length: 20 }, () => freePorts(6)))
  const ports = [
    ...(await Promise.all(one)),
    ...inRow.flatMap((first) => [0, 1, 2, 3, 4, 5].map((at) => first + at)),
  ]
  assert.equal(new Set(ports).size, 170)
})
