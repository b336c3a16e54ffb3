/** What every artifact of a release says about itself. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of package.json. */
export const repository = join(import.meta.dirname, '..', '..')

/** The version in package.json. */
export const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
)

/** The time that artifacts are stamped with, so that two builds of a commit are alike: SOURCE_DATE_EPOCH, in Unix s. */
export function sourceEpoch(): number {
  return Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct'))
}

/** Name and address of who makes the packages: of DEBFULLNAME and DEBEMAIL, or of the last commit. */
export function maintainer(): string {
  const { DEBFULLNAME: name, DEBEMAIL: address } = process.env
  return name && address ? `${name} <${address}>` : git('log', '-1', '--format=%an <%ae>')
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim()
}
