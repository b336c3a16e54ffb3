/** Fresh installations of Debian, in which packages are installed as users do, without a systemd that runs. */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from './lifetime.ts'
import { temporaryFolder } from './places.ts'
import { runProgram } from './program.ts'

/** Kept over runs: the folder of temporary files that survives a boot. */
const cache = '/var/tmp'

/** A root of this machine's release of Debian, with its essential packages and those of `include`. */
export class DebianRoot {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Makes it from the archives of this machine's apt, once for all tests, and then from a copy. */
  static async make(lifetime: Lifetime, include: readonly string[]): Promise<DebianRoot> {
    const [, release = ''] = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? []
    const sources = globSync('/etc/apt/sources.list.d/debian.sources')
    const name = createHash('sha256')
      .update(JSON.stringify([release, include]))
      .digest('hex')
      .slice(0, 12)
    const archive = join(cache, `fahao-debian-${name}.tar`)
    if (!existsSync(archive)) {
      const made = `${archive}.${process.pid}.tar`
      const flags = ['--variant=essential', `--include=${include.join(',')}`, '--quiet']
      await runProgram(['mmdebstrap', ...flags, release, made, ...sources])
      renameSync(made, archive)
    }
    const folder = temporaryFolder(lifetime)
    await runProgram(['tar', '--extract', `--file=${archive}`, `--directory=${folder}`])
    return new DebianRoot(folder)
  }

  /** Runs a program in it, as root; resolves to what it printed. */
  run(...command: readonly string[]): Promise<string> {
    const env = { DEBIAN_FRONTEND: 'noninteractive', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
    return runProgram(['chroot', this.folder, ...command], { env })
  }
}
