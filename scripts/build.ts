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
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { billOfMaterials } from './sbom.ts'

const { values } = parseArgs({
  options: { run: { type: 'boolean', default: false }, out: { type: 'string' } },
})
const root = join(import.meta.dirname, '..')
const dist = values.out ?? join(root, 'dist')
const { peerDependencies } = JSON.parse(readText('package.json'))
/**
 * Not built in, beside the optional peers, because it is never loaded: Fastify's compilers of schemas and its test requests, and
 * `redis`, which the client imports for addresses of RESP. The program gives the client addresses of HTTP.
 */
const neverLoaded = [
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
  'redis',
]
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
  writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), licencesOf(packages))
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
  for (const { fileName, type } of output) (type === 'asset' ? shortenMap : escapeWide)(join(dist, fileName))
  return output.flatMap((part) =>
    part.type === 'chunk' ? part.moduleIds.map((path) => relative(root, path)) : [],
  )
}

/**
 * Puts escapes in place of the characters for which V8 would keep all of a file with two bytes for each character. They
 * occur in strings and in regular expressions only.
 */
function escapeWide(file: string): void {
  const code = readFileSync(file, 'utf8')
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  writeFileSync(file, code.replaceAll(/[^\0-\xff]/g, escaped))
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

/** The folders of the packages that files are of, sorted, each with its files. */
function packagesOf(files: readonly string[]): Map<string, readonly string[]> {
  const ofPackages = files.filter((file) => file.includes('node_modules/'))
  const folderOf = (file: string) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)![0]
  return new Map([...Map.groupBy(ofPackages, folderOf)].sort())
}

/** The texts of the licences under which the packages may be copied. */
function licencesOf(packages: ReadonlyMap<string, readonly string[]>): string {
  const texts = [...packages].map(([folder, files]) => {
    const { name, version, license, author } = JSON.parse(readText(join(folder, 'package.json')))
    const own = readdirSync(join(root, folder)).filter((file) => /^(?:licen[sc]e|copying|notice)/i.test(file))
    const parts = own.length > 0 ? own.map((file) => join(folder, file)).map(readText) : headersOf(files)
    if (parts.length === 0)
      parts.push(`No text comes with the package. Its author: ${author?.name ?? author}`)
    return `${name} ${version} (${license})\n\n${parts.join('\n\n')}\n`
  })
  return `dist/ contains code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** The comments about copyright at the top of files, each once. */
function headersOf(files: readonly string[]): string[] {
  const tops = files.map((file) => /^(?:\/\/.*\n|\/\*[\s\S]*?\*\/\n)+/.exec(readText(file))?.[0].trim() ?? '')
  return [...new Set(tops.filter((top) => /copyright/i.test(top)))]
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8').trim()
}
