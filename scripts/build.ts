/**
 * npm run build: src/ becomes the program and the library in dist/, console/ becomes the pages in dist/console/, client/src/ becomes
 * client/dist/.
 *
 *     node scripts/build.ts                 what is published: with types, the bill of materials and the licences
 *     node scripts/build.ts --run           what runs here: the code alone
 *     node scripts/build.ts --out FOLDER    both in another folder, which gets dist/ and client/dist/
 *
 * The packages that Fahao uses are built into dist/, so that an installation is one package. Those that only some users need
 * stay outside: they are the optional peers of package.json.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { inOneByte, licencesOf, neverLoaded, packagesOf, threads } from './bundles.ts'
import { buildConsole } from './console.ts'
import { billOfMaterials } from './sbom.ts'

const { values } = parseArgs({
  options: { run: { type: 'boolean', default: false }, out: { type: 'string' } },
})
const root = join(import.meta.dirname, '..')
const out = values.out ?? root
const { peerDependencies } = readJson('package.json')
/** A published package. */
type Package = {
  /** Where its code goes. */
  readonly dist: string
  /** The sources of what users or threads load, by their names in `dist`. */
  readonly entries: Readonly<Record<string, string>>
  /** Those of the entries that have types, and the project that describes how types are made. */
  readonly typed: readonly string[]
  readonly project: string
  /** Whether it runs in Node only. */
  readonly platform: 'node' | 'neutral'
  /** Packages that are not built in. */
  readonly outside: readonly string[]
}

const server: Package = {
  dist: join(out, 'dist'),
  entries: {
    fahao: 'src/cli/fahao.ts',
    index: 'src/index.ts',
    ids: 'src/ids.ts',
    ...threads,
  },
  typed: ['index', 'ids'],
  project: 'tsconfig.build.json',
  platform: 'node',
  outside: [...Object.keys(peerDependencies), ...neverLoaded],
}

const hooks = ['drizzle', 'knex', 'kysely', 'mikro-orm', 'prisma', 'sequelize', 'typeorm']
const client: Package = {
  dist: join(out, 'client/dist'),
  entries: {
    index: 'client/src/index.ts',
    ...Object.fromEntries(hooks.map((hook) => [hook, `client/src/orm/${hook}.ts`])),
  },
  typed: ['index', ...hooks],
  project: 'client/tsconfig.build.json',
  platform: 'neutral',
  outside: Object.keys(readJson('client/package.json').peerDependencies),
}

const [builtIn] = await Promise.all([server, client].map(build))
const inConsole = await buildConsole(join(server.dist, 'console'))
chmodSync(join(server.dist, 'fahao.js'), 0o755)
if (!values.run) {
  const packages = packagesOf([...builtIn!, ...inConsole])
  writeFileSync(join(server.dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf('dist/', packages))
  writeFileSync(join(server.dist, 'sbom.cdx.json'), billOfMaterials([...packages.keys()]))
}
if (out === root) {
  // npx links it too, but not if it was called once before the first build.
  const link = join(root, 'node_modules/.bin/fahao')
  rmSync(link, { force: true })
  symlinkSync('../../dist/fahao.js', link)
}

/** Builds a package; returns the files of which some is in it. */
async function build(each: Package): Promise<string[]> {
  rmSync(each.dist, { recursive: true, force: true })
  const sources = await bundleCode(each)
  if (!values.run) await bundleTypes(each)
  return sources
}

async function bundleCode({ dist, entries, platform, outside }: Package): Promise<string[]> {
  const names = outside.map(withItsFiles)
  // prom-client needs the API of OpenTelemetry in every installation: a copy is built in for it.
  const external = (id: string, importer?: string) =>
    names.some((name) => name.test(id)) && importer?.includes('/prom-client/') !== true
  const bundle = await rolldown({ cwd: root, platform, input: entries, external })
  // All files are in one folder: `startThread` finds a thread beside the file that starts it.
  const { output } = await bundle.write({
    dir: dist,
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    comments: { legal: false, annotation: true, jsdoc: false },
  })
  await bundle.close()
  for (const { fileName, type } of output) (type === 'asset' ? shortenMap : escapeFile)(join(dist, fileName))
  return output.flatMap((part) =>
    part.type === 'chunk' ? part.moduleIds.map((path) => relative(root, path)) : [],
  )
}

/** Types: one file for each entry that users import, and one for what several have in common. */
async function bundleTypes({ dist, entries, typed, project, outside }: Package): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-types-'))
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, '--outDir', folder], {
      cwd: root,
      stdio: 'inherit',
    })
    const declared = (name: string) => join(folder, entries[name]!.replace(/\.ts$/, '.d.ts'))
    const bundle = await rolldown({
      input: Object.fromEntries(typed.map((name) => [name, declared(name)])),
      external: outside.map(withItsFiles),
      plugins: [dts({ dtsOnly: true, generator: 'oxc' })],
    })
    // `await using` needs a declaration that not every project has.
    const banner = '/// <reference lib="esnext.disposable" />'
    await bundle.write({ dir: dist, chunkFileNames: '[name]-shared.d.ts', banner })
    await bundle.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What imports of a package look like. */
function withItsFiles(name: string): RegExp {
  return new RegExp(`^${name}(/|$)`)
}

function escapeFile(file: string): void {
  writeFileSync(file, inOneByte(readFileSync(file, 'utf8')))
}

/** Leaves the sources of other packages out of a source map: names and lines are enough to find them. */
function shortenMap(file: string): void {
  const map = JSON.parse(readFileSync(file, 'utf8'))
  const isOurs = (index: number) => !map.sources[index].includes('node_modules/')
  map.sourcesContent = map.sourcesContent.map((text: string, index: number) => (isOurs(index) ? text : null))
  writeFileSync(file, JSON.stringify(map))
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}
