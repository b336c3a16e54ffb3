/** The version that an upgrade begins from, as users have it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../launch/program.ts'

/** A package that was unpacked, with its dependencies. */
export type Package = { readonly folder: string; readonly version: string }

/** Packs it, or finds it where an earlier call has left it; rejects with a sentence where the clone lacks its commit. */
export async function versionBefore(): Promise<Package> {
  const printed = await runProgram(['sh', join(import.meta.dirname, 'pack-version-before.sh')])
  return packageIn(printed.trim())
}

/** The file that a program which imports `fahao-client` of this version loads. */
export function clientOf({ folder }: Package): string {
  const client = join(folder, 'client')
  const { exports } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'))
  return join(client, exports['.'].default)
}

/** The package, or checkout, in a folder. */
export function packageIn(folder: string): Package {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { folder, version }
}
