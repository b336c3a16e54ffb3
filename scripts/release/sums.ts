/** The checksums of a release, as `sha256sum --check` reads them. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../test/launch/program.ts'
import { type Artifact, artifact, type Release } from './artifact.ts'

const file = 'SHA256SUMS'

/** Writes the checksums of all files of the release, and has coreutils verify them. */
export async function makeSums(release: Release): Promise<readonly Artifact[]> {
  const { folder } = release
  const names = readdirSync(folder).sort()
  const lines = names.map((name) => `${sha256(join(folder, name))}  ${name}\n`)
  writeFileSync(join(folder, file), lines.join(''))
  const verified = await runProgram(['sha256sum', '--check', '--strict', file], { cwd: folder })
  const count = verified.match(/: OK$/gm)?.length
  if (count !== names.length)
    throw new Error(`sha256sum verified ${count} of ${names.length} files:\n${verified}`)
  return [artifact(release, file, `\`sha256sum --check\`: ${count} files`)]
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
