/** The tarballs of fahao and fahao-client. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../test/launch/program.ts'
import { type Artifact, artifact, type Release } from './artifact.ts'
import { installTarballs, useProject } from './packed-packages.ts'

const linters: readonly ((tarball: string) => readonly string[])[] = [
  (tarball) => ['node_modules/.bin/publint', 'run', tarball, '--strict'],
  (tarball) => ['node_modules/.bin/attw', tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'],
]

/** Packs both packages, lints both tarballs, and uses them in an empty project. */
export async function makePackages(release: Release): Promise<readonly Artifact[]> {
  await runProgram(['npm', 'run', '--silent', 'build'])
  const names = [await pack(release, '.'), await pack(release, 'client')]
  const tarballs = names.map((name) => join(release.folder, name))
  for (const tarball of tarballs) for (const linter of linters) await runProgram(linter(tarball))
  const installed = await installTarballs(join(release.scratch, 'project'), tarballs)
  const used = await useProject(join(release.scratch, 'project'))
  const [server, client] = names
  return [
    artifact(
      release,
      server!,
      `publint, attw; \`npm install\` in an empty project: ${installed.packages} packages, ${megabytes(installed.bytes)} with ${client}; ` +
        `${used.join(', ')}; Node ${process.versions.node}`,
    ),
    artifact(release, client!, 'publint, attw; an id of the server above'),
  ]
}

/** Packs a package into the folder of the release; returns the name of the tarball. */
async function pack({ folder, scratch, repository }: Release, place: string): Promise<string> {
  const command = ['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination']
  if (repository === undefined) return (await runProgram([...command, folder], { cwd: place })).trim()
  // The repository is known to who publishes alone: the manifest in the tarball gets it, and no file of the repository.
  const tarball = (await runProgram([...command, scratch], { cwd: place })).trim()
  // npm takes a folder whose name ends with .tgz for a tarball.
  const unpacked = join(scratch, `unpacked-${tarball.replace('.tgz', '')}`)
  mkdirSync(unpacked)
  await runProgram(['tar', '-xzf', join(scratch, tarball), '-C', unpacked, '--strip-components', '1'])
  const path = join(unpacked, 'package.json')
  const directory = place === '.' ? {} : { directory: place }
  const manifest = { ...JSON.parse(readFileSync(path, 'utf8')) }
  manifest.repository = { type: 'git', url: `git+${repository}.git`, ...directory }
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`)
  return (await runProgram([...command, folder], { cwd: unpacked })).trim()
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
