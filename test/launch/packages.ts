/** Packages that only some tests need: a folder of tests has a package.json and a lock file, and installs them for itself. */
import { join } from 'node:path'
import { runProgram } from './program.ts'

/** A copy of the lock file, in what was installed from it. */
const installed = 'node_modules/.installed-lock'
const install = `cmp -s package-lock.json ${installed} || { npm ci --no-audit --no-fund && cp package-lock.json ${installed}; }`

/**
 * Installs what the folder's package-lock.json names unless it is there; one process at a time. `what` names it in the
 * error. Imports of such a package must be dynamic, and come later.
 */
export async function installPackages(folder: string, what: string): Promise<void> {
  try {
    await runProgram(['flock', join(folder, 'package.json'), 'sh', '-c', install], { cwd: folder })
  } catch (error) {
    throw new Error(
      `${what} could not be installed. Make the npm registry reachable, or run \`npm ci\` in ${folder} where it is.`,
      { cause: error },
    )
  }
}
