/**
 * `node scripts/image-root.ts FOLDER`: what the image adds to the one that it stands on, from a repository that is built. The
 * Dockerfile calls it.
 *
 *     /usr/local/bin/node     the Node that runs this
 *     /usr/local/bin/fahao    the program, for commands in a running container
 *     /opt/fahao              the package as it is published, and the drivers of databases in its node_modules
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Locked = { readonly dependencies?: Readonly<Record<string, string>> }

const root = join(import.meta.dirname, '..')
const [image = ''] = process.argv.slice(2)
const app = join(image, 'opt/fahao')
const programs = join(image, 'usr/local/bin')
const installed: Readonly<Record<string, Locked>> = readJson('package-lock.json').packages
/** Readable logs are for terminals. */
const drivers = Object.keys(readJson('package.json').peerDependencies).filter(
  (name) => name !== 'pino-pretty',
)

mkdirSync(app, { recursive: true })
mkdirSync(programs, { recursive: true })
const folder = mkdtempSync(join(tmpdir(), 'fahao-image-'))
execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: root })
const { version } = readJson('package.json')
execFileSync('tar', ['-xzf', join(folder, `fahao-${version}.tgz`), '-C', app, '--strip-components', '1'])
for (const path of closure(drivers)) cpSync(join(root, path), join(app, path), { recursive: true })
copyFileSync(join(root, 'packaging/image/health.mjs'), join(app, 'health.mjs'))
copyFileSync(process.execPath, join(programs, 'node'))
symlinkSync('/opt/fahao/dist/fahao.js', join(programs, 'fahao'))

/** The folders of packages and of all that they depend on. */
function closure(names: readonly string[]): ReadonlySet<string> {
  const paths = new Set<string>()
  const add = (name: string, from: string) => {
    const path = pathOf(name, from)
    if (paths.has(path)) return
    paths.add(path)
    for (const each of Object.keys(installed[path]!.dependencies ?? {})) add(each, path)
  }
  for (const name of names) add(name, '')
  return paths
}

/** Where Node finds a package that the one at `from` imports. */
function pathOf(name: string, from: string): string {
  const path = join(from, 'node_modules', name)
  if (installed[path] !== undefined) return path
  if (from === '') throw new Error(`package-lock.json lacks ${name}`)
  return pathOf(name, from.slice(0, Math.max(from.lastIndexOf('/node_modules/'), 0)))
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}
