/** The executables and the packages of Debian, for both processors. Those of this machine's processor are used here. */
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DebianRoot } from '../../test/launch/debian-root.ts'
import { inScope, type Lifetime } from '../../test/launch/lifetime.ts'
import { freePort } from '../../test/launch/places.ts'
import { startProcess } from '../../test/launch/process.ts'
import { runProgram } from '../../test/launch/program.ts'
import { RawClient } from '../../test/launch/raw-client.ts'
import { type Artifact, artifact, type Release } from './artifact.ts'
import { buildBinary, type Processor } from './binary.ts'
import { buildDeb } from './deb.ts'

const processors: readonly Processor[] = ['x64', 'arm64']
/** The machine in the header of an ELF file, at byte 18. */
const machines: Readonly<Record<Processor, number>> = { x64: 62, arm64: 183 }

/** Makes both of each processor. */
export async function makeLinux(release: Release): Promise<readonly Artifact[]> {
  await runProgram(['sh', 'scripts/system-packages.sh', 'artifacts'])
  const artifacts: Artifact[] = []
  for (const processor of processors) {
    const binary = await buildBinary(release.folder, processor)
    const deb = await buildDeb(release.folder, { ...binary, processor })
    const isHere = processor === process.arch
    const elsewhere = `the header is one for ${processor}. Not run here; on such a machine: `
    if (readFileSync(binary.executable).readUInt16LE(18) !== machines[processor])
      throw new Error(`${binary.executable} is for another processor than ${processor}`)
    artifacts.push(
      row(
        release,
        binary.executable,
        isHere
          ? await useBinary(binary.executable)
          : `${elsewhere}\`./${basename(binary.executable)} serve\``,
      ),
      row(release, deb, isHere ? await useDeb(deb) : `${elsewhere}\`apt install ./${basename(deb)}\``),
      row(release, binary.licences, 'goes with the executable'),
    )
  }
  return artifacts
}

function row(release: Release, path: string, tried: string): Artifact {
  return artifact(release, basename(path), tried)
}

async function useBinary(executable: string): Promise<string> {
  chmodSync(executable, 0o755)
  const version = (await runProgram([executable, '--version'])).trim()
  const firstMs = await inScope((scope) => firstId(scope, [executable]))
  return `\`--version\` says ${version}; \`serve\` and \`INCR\`: 1 after ${firstMs} ms`
}

/** As a user of Debian: installed, served as the service's user, removed, purged. */
function useDeb(deb: string): Promise<string> {
  return inScope(async (scope) => {
    const root = await DebianRoot.make(scope, ['adduser', 'init-system-helpers', 'libstdc++6'])
    copyFileSync(deb, join(root.folder, basename(deb)))
    await root.run('dpkg', '--install', `/${basename(deb)}`)
    await firstId(scope, ['chroot', '--userspec=fahao:fahao', root.folder, '/usr/bin/fahao'])
    await root.run('dpkg', '--remove', 'fahao')
    await root.run('dpkg', '--purge', 'fahao')
    return '`dpkg --install` in a fresh Debian; `serve` and `INCR` as its user; `--remove`, `--purge`'
  })
}

/** Serves from memory with a program, takes an id and stops it. Returns the time to the id in milliseconds. */
async function firstId(scope: Lifetime, [command = '', ...args]: readonly string[]): Promise<number> {
  const [resp, begun] = [await freePort(), performance.now()]
  const flags = [
    '--engine',
    'memory:',
    '--resp',
    `127.0.0.1:${resp}`,
    '--http',
    'off',
    '--auto-create',
    '*=sequence',
  ]
  const server = await startProcess(scope, {
    command,
    args: [...args, 'serve', ...flags],
    readyWhen: { port: resp },
  })
  const id = await (await RawClient.connect(resp, scope)).command('INCR', 'order')
  const tookMs = Math.round(performance.now() - begun)
  const { code } = await server.kill('SIGTERM')
  if (Number(id) !== 1 || code !== 0) throw new Error(`INCR gave ${id}, the end ${code}:\n${server.output()}`)
  return tookMs
}
