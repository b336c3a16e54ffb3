/**
 * npm run build: src/ becomes the program and the library in dist/, the client becomes client/dist/.
 *
 *     node scripts/build.ts                 what is published: with types, the bill of materials and the licences
 *     node scripts/build.ts --run           what runs here: the code alone
 *     node scripts/build.ts --out FOLDER    dist/ in another folder, without the client
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
import { inOneByte, licencesOf, neverLoaded, packagesOf } from './bundles.ts'
import { billOfMaterials } from './sbom.ts'

const { values } = parseArgs({
  options: { run: { type: 'boolean', default: false }, out: { type: 'string' } },
})
const root = join(import.meta.dirname, '..')
const dist = values.out ?? join(root, 'dist')
const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** Not built in: the optional peers, and what is never loaded. */
const outside = [...Object.keys(peerDependencies), ...neverLoaded]

/** The files that users or threads load, by their names in dist/. */
const entries = {
  fahao: 'src/cli/fahao.ts',
  index: 'src/index.ts',
  ids: 'src/ids.ts',
  'store-thread': 'src/engine/sqlite/store-thread.ts',
  'query-thread': 'src/postgres/query-thread.ts',
}

rmSync(dist, { recursive: true, force: true })
const modules = await bundleCode()
chmodSync(join(dist, 'fahao.js'), 0o755)
if (!values.run) {
  await bundleTypes()
  const packages = packagesOf(modules)
  writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf('dist/', packages))
  writeFileSync(join(dist, 'sbom.cdx.json'), billOfMaterials([...packages.keys()]))
}
if (values.out === undefined) {
  rmSync(join(root, 'client/dist'), { recursive: true, force: true })
  tsc('client/tsconfig.build.json', ...(values.run ? ['--noCheck'] : []))
  // npx links it too, but not if it was called once before the first build.
  const link = join(root, 'node_modules/.bin/fahao')
  rmSync(link, { force: true })
  symlinkSync('../../dist/fahao.js', link)
}

/** Builds the code; returns the files of which some is in it. */
async function bundleCode(): Promise<string[]> {
  const build = await rolldown({
    cwd: root,
    platform: 'node',
    input: entries,
    external: outside.map((name) => new RegExp(`^${name}(/|$)`)),
  })
  // All files are in one folder: `startThread` finds a thread beside the file that starts it.
  const { output } = await build.write({
    dir: dist,
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    comments: { legal: false, annotation: false, jsdoc: false },
  })
  await build.close()
  for (const { fileName, type } of output) (type === 'asset' ? shortenMap : escapeFile)(join(dist, fileName))
  return output.flatMap((part) =>
    part.type === 'chunk' ? part.moduleIds.map((path) => relative(root, path)) : [],
  )
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

/** Types: one file for each entry that users import. */
async function bundleTypes(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-types-'))
  try {
    tsc('tsconfig.build.json', '--outDir', folder)
    const input = Object.fromEntries(['index', 'ids'].map((name) => [name, join(folder, `src/${name}.d.ts`)]))
    const build = await rolldown({ input, plugins: [dts({ dtsOnly: true, generator: 'oxc' })] })
    await build.write({ dir: dist, chunkFileNames: 'shared.d.ts' })
    await build.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function tsc(project: string, ...flags: readonly string[]): void {
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, ...flags], {
    cwd: root,
    stdio: 'inherit',
  })
}
