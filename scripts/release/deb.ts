/**
 * npm run package:deb -- [FOLDER] [--arch x64|arm64]: a package of Debian with the executable, which it makes first, its
 * service, manual page and completions. Default: release/.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { program } from '../../src/cli/main.ts'
import { completions } from '../../src/cli/verbs/completion.ts'
import { buildBinary, type Processor, releaseFolder } from './binary.ts'
import { maintainer, repository, sourceEpoch, version } from './facts.ts'
import { manPage } from './man-page.ts'

/** How to make a package. */
export type DebOptions = {
  /** What `buildBinary` makes: the executable, and the licences of all that it contains. */
  readonly executable: string
  readonly licences: string
  readonly processor?: Processor
  /** Default: that of package.json. */
  readonly version?: string
  /** Of dpkg-deb: `xz`, or `none` where the package is installed at once. */
  readonly compression?: 'xz' | 'none'
}

/** Processors as Debian calls them. */
const architectures = { x64: 'amd64', arm64: 'arm64' }
const sources = join(repository, 'packaging/deb')

/** Makes the package in the folder `out`; resolves to its path. */
export async function buildDeb(out: string, options: DebOptions): Promise<string> {
  const architecture = architectures[options.processor ?? 'x64']
  const debianVersion = `${(options.version ?? version).replace('-', '~')}-1`
  const temporary = mkdtempSync(join(tmpdir(), 'fahao-deb-'))
  // Its own folder becomes the root of the package, and is as open as that of a system.
  const folder = join(temporary, 'root')
  try {
    const files = await contents(options, debianVersion)
    for (const [path, { text, mode }] of files) put(join(folder, path), text, mode)
    const sizes = [...files.values()].map(({ text }) => Math.ceil(text.length / 1024))
    const control = readFileSync(join(sources, 'control'), 'utf8')
      .replace('{version}', debianVersion)
      .replace('{architecture}', architecture)
      .replace('{maintainer}', maintainer())
      .replace('{size}', String(sizes.reduce((sum, size) => sum + size, 0)))
    put(join(folder, 'DEBIAN/control'), control)
    put(join(folder, 'DEBIAN/conffiles'), '/etc/fahao/fahao.yaml\n')
    for (const script of ['postinst', 'prerm', 'postrm'])
      put(join(folder, 'DEBIAN', script), readFileSync(join(sources, script)), 0o755)
    const sums = [...files].map(
      ([path, { text }]) => `${createHash('md5').update(text).digest('hex')}  ${path}\n`,
    )
    put(join(folder, 'DEBIAN/md5sums'), sums.join(''))
    mkdirSync(out, { recursive: true })
    const file = join(out, `fahao_${debianVersion}_${architecture}.deb`)
    const flags = ['--root-owner-group', `-Z${options.compression ?? 'xz'}`]
    execFileSync('dpkg-deb', [...flags, '--build', folder, file], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceEpoch()) },
    })
    return file
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

type File = { readonly text: Buffer; readonly mode: number }

/** The files of the package, by path. */
async function contents(
  { executable, licences }: DebOptions,
  debianVersion: string,
): Promise<Map<string, File>> {
  const root = await program(() => true)
  const at = new Date(sourceEpoch() * 1000)
  const texts: Readonly<Record<string, string | Buffer>> = {
    'etc/fahao/fahao.yaml': readFileSync(join(sources, 'fahao.yaml')),
    'usr/bin/fahao': readFileSync(executable),
    'usr/lib/systemd/system/fahao.service': readFileSync(join(sources, 'fahao.service')),
    'usr/share/bash-completion/completions/fahao': completions.bash!(root),
    'usr/share/doc/fahao/changelog.Debian.gz': compressed(changelog(debianVersion, at)),
    'usr/share/doc/fahao/copyright': readFileSync(licences),
    'usr/share/fahao/grafana/fahao.json': readFileSync(join(repository, 'ops/grafana/fahao.json')),
    'usr/share/fahao/prometheus/alerts.yml': readFileSync(join(repository, 'ops/prometheus/alerts.yml')),
    'usr/share/fish/vendor_completions.d/fahao.fish': completions.fish!(root),
    'usr/share/lintian/overrides/fahao': readFileSync(join(sources, 'lintian-overrides')),
    'usr/share/man/man1/fahao.1.gz': compressed(await manPage(version, at.toISOString().slice(0, 10))),
    'usr/share/zsh/vendor-completions/_fahao': completions.zsh!(root),
  }
  return new Map(
    Object.entries(texts).map(([path, text]) => [
      path,
      { text: Buffer.from(text), mode: path === 'usr/bin/fahao' ? 0o755 : 0o644 },
    ]),
  )
}

function put(path: string, text: string | Buffer, mode = 0o644): void {
  const umask = process.umask(0o022)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode })
  process.umask(umask)
}

/** As gzip -9n: without a name and a time. */
function compressed(text: string): Buffer {
  return gzipSync(text, { level: 9 })
}

function changelog(debianVersion: string, at: Date): string {
  const date = at.toUTCString().replace('GMT', '+0000')
  return `fahao (${debianVersion}) stable; urgency=medium

  * What has changed is in CHANGELOG.md of the source.

 -- ${maintainer()}  ${date}
`
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { arch: { type: 'string' } }, allowPositionals: true })
  const { arch = process.arch } = values
  if (arch !== 'x64' && arch !== 'arm64') throw new Error(`--arch ${arch}: give x64 or arm64`)
  const out = positionals[0] ?? releaseFolder
  console.log(await buildDeb(out, { ...(await buildBinary(out, arch)), processor: arch }))
}
