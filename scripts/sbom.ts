/**
 * Prints a bill of materials (CycloneDX) of the packages that users install, by `npm sbom`. Its `--omit dev` also omits
 * packages that users install if development needs them as well, so npm gets a copy of the lock file without development.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Locked = {
  readonly dev?: true
  readonly devOptional?: true
  readonly integrity?: string
  readonly devDependencies?: unknown
}
type LockFile = { readonly packages: Readonly<Record<string, Locked>> }

const {
  devDependencies: _,
  workspaces: _own,
  ...manifest
} = readJson<Locked & { workspaces?: unknown }>('package.json')
const lockFile = readJson<LockFile>('package-lock.json')
// Of a workspace the lock file has no hash; what only its optional peers need is for development here.
const used = Object.entries(lockFile.packages).filter(
  ([path, { dev, devOptional, integrity }]) => path !== '' && !dev && !devOptional && integrity !== undefined,
)

const folder = mkdtempSync(join(tmpdir(), 'fahao-sbom-'))
try {
  // npm names the bill after the folder.
  const project = join(folder, 'fahao')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  const packages = { '': manifest, ...Object.fromEntries(used) }
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify({ ...lockFile, packages }))
  const flags = ['--package-lock-only', '--sbom-type', 'application', '--sbom-format', 'cyclonedx']
  execFileSync('npm', ['sbom', ...flags], { cwd: project, stdio: 'inherit' })
} finally {
  rmSync(folder, { recursive: true })
}

function readJson<Value>(name: string): Value {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', name), 'utf8'))
}
