/** The bill of materials (CycloneDX) of what is built into dist/, by `npm sbom`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Locked = { readonly version: string; readonly dependencies?: Readonly<Record<string, string>> }

const root = join(import.meta.dirname, '..')

/** @param folders of the packages, such as `node_modules/zod`: those of the lock file that are built in. */
export function billOfMaterials(folders: readonly string[]): string {
  const {
    devDependencies: _,
    workspaces: _own,
    peerDependencies: _peers,
    ...manifest
  } = readJson('package.json')
  const lockFile: { readonly packages: Readonly<Record<string, Locked>> } = readJson('package-lock.json')
  const packages = Object.fromEntries(
    folders.map((folder) => {
      const {
        dev: _dev,
        devOptional: _optional,
        dependencies = {},
        ...locked
      } = lockFile.packages[folder]! as Locked & {
        readonly dev?: true
        readonly devOptional?: true
      }
      // Of some packages only a part is built in, and not all that the other parts need.
      const builtIn = Object.entries(dependencies).filter(([name]) =>
        folders.some((other) => other.endsWith(`node_modules/${name}`)),
      )
      return [folder, { ...locked, dependencies: Object.fromEntries(builtIn) }]
    }),
  )
  const direct = folders.filter((folder) => folder.lastIndexOf('node_modules/') === 0)
  const dependencies = Object.fromEntries(
    direct.map((folder) => [folder.slice('node_modules/'.length), packages[folder]!.version]),
  )
  const bundled = { ...manifest, dependencies }
  const folder = mkdtempSync(join(tmpdir(), 'fahao-sbom-'))
  try {
    // npm names the bill after the folder.
    const project = join(folder, 'fahao')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify(bundled))
    writeFileSync(
      join(project, 'package-lock.json'),
      JSON.stringify({ ...lockFile, packages: { '': bundled, ...packages } }),
    )
    const flags = ['--package-lock-only', '--sbom-type', 'application', '--sbom-format', 'cyclonedx']
    return execFileSync('npm', ['sbom', ...flags], { cwd: project, encoding: 'utf8', maxBuffer: 2 ** 26 })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}
