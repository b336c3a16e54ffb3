/** The packages of the ORMs, which the project itself does not need: installed here when a test first wants them. */
import { join } from 'node:path'
import { runProgram } from '../launch/program.ts'

const folder = import.meta.dirname

/** A copy of the lock file, in what was installed from it. */
const installed = 'node_modules/.installed-lock'
const install = `cmp -s package-lock.json ${installed} || { npm ci --no-audit --no-fund && cp package-lock.json ${installed}; }`

/**
 * Installs what package-lock.json names unless it is there; one process at a time. Call it before the first import of an
 * ORM, which must be dynamic.
 */
export async function installPackages(): Promise<void> {
  try {
    await runProgram(['flock', join(folder, 'package.json'), 'sh', '-c', install], { cwd: folder })
  } catch (error) {
    throw new Error(
      'The ORMs could not be installed. Make the npm registry reachable, or run `npm ci` in test/orm where it is.',
      { cause: error },
    )
  }
}
