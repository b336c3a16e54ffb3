/** The compiler on the tests of this folder, which the project's own run leaves out: they need the ORMs. */
import { join } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../launch/program.ts'
import { installPackages } from './packages.ts'

const root = join(import.meta.dirname, '..', '..')

test('the hooks fit the types of their ORMs', { timeout: 120_000 }, async () => {
  await installPackages()
  await runProgram([join(root, 'node_modules/.bin/tsc'), '-p', 'test/orm'], { cwd: root })
})
