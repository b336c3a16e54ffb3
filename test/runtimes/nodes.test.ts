/** The packed packages on the oldest Node that they promise, on that of development, and on the newest. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { installTarballs, useProject } from '../../scripts/release/packed-packages.ts'
import { installPackages } from '../launch/packages.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { installed } from './project.ts'

const root = join(import.meta.dirname, '..', '..')
const oldest = '22.18.0'

describe('fahao and fahao-client, installed from their tarballs', { timeout: 300_000 }, () => {
  const folder = temporaryFolder({ after })
  const project = join(folder, 'project')

  before(async () => {
    await installPackages(import.meta.dirname, 'Node 22 and 26')
    await runProgram(['flock', 'package.json', 'sh', 'scripts/prepare.sh'], { cwd: root })
    const pack = ['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
    const tarballs: string[] = []
    for (const cwd of [root, join(root, 'client')]) tarballs.push((await runProgram(pack, { cwd })).trim())
    await installTarballs(
      project,
      tarballs.map((name) => join(folder, name)),
    )
  })

  test('promise the oldest Node that is tried here', () => {
    for (const path of ['package.json', 'client/package.json'])
      assert.equal(`${JSON.parse(readFileSync(join(root, path), 'utf8')).engines.node}.0`, `>=${oldest}`)
  })

  const nodes: readonly (readonly [name: string, program: () => string])[] = [
    [oldest, () => installed('node-22-*/bin/node')],
    ['of development', () => process.execPath],
    ['26', () => installed('node-26-*/bin/node')],
  ]
  for (const [name, program] of nodes)
    test(`serve, issue in process, and are imported and required on Node ${name}`, async (t) => {
      const version = (await runProgram([program(), '--version'])).trim()
      if (/^\d/.test(name)) assert.ok(version.startsWith(`v${name}`), version)
      t.diagnostic(`${version}: ${(await useProject(project, program())).join(', ')}`)
    })
})
