/** What the bundles have in common, of which dist/ and the executable are made: their packages, licences and characters. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const root = join(import.meta.dirname, '..')

/**
 * Not built in, because it is never loaded: Fastify's compilers of schemas and its test requests, and `redis`, which the client
 * imports for addresses of RESP. The program gives the client addresses of HTTP.
 */
export const neverLoaded = [
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  'light-my-request',
  'redis',
]

/** The code of threads, by the names that `startThread` asks for. */
export const threads = {
  'store-thread': 'src/engine/sqlite/store-thread.ts',
  'copy-progress-thread': 'src/cli/copy-progress-thread.ts',
  'query-thread': 'src/postgres/query-thread.ts',
}

/**
 * Code with escapes in place of the characters for which V8 would keep all of a file with two bytes for each character. They
 * occur in strings and in regular expressions only.
 */
export function inOneByte(code: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return code.replaceAll(/[^\0-\xff]/g, escaped)
}

/** The folders of the packages that files are of, sorted, each with its files. */
export function packagesOf(files: readonly string[]): Map<string, readonly string[]> {
  const ofPackages = files.filter((file) => file.includes('node_modules/'))
  const folderOf = (file: string) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)![0]
  return new Map([...Map.groupBy(ofPackages, folderOf)].sort())
}

/** The texts of the licences under which the packages may be copied. @param where what contains their code. */
export function licencesOf(where: string, packages: ReadonlyMap<string, readonly string[]>): string {
  const texts = [...packages].map(([folder, files]) => {
    const { name, version, license, author } = JSON.parse(readText(join(folder, 'package.json')))
    // A file that was built of other packages has their licences beside it.
    const beside = files.map((file) => `${basename(file)}.LICENSE.txt`)
    const own = readdirSync(join(root, folder)).filter(
      (file) => /^(?:licen[sc]e|copying|notice)/i.test(file) || beside.includes(file),
    )
    const parts = own.length > 0 ? own.map((file) => join(folder, file)).map(readText) : headersOf(files)
    if (parts.length === 0)
      parts.push(`No text comes with the package. Its author: ${author?.name ?? author}`)
    return `${name} ${version} (${license})\n\n${parts.join('\n\n')}\n`
  })
  return `${where} contains code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** The comments about copyright at the top of files, each once. */
function headersOf(files: readonly string[]): string[] {
  const tops = files.map((file) => /^(?:\/\/.*\n|\/\*[\s\S]*?\*\/\n)+/.exec(readText(file))?.[0].trim() ?? '')
  return [...new Set(tops.filter((top) => /copyright/i.test(top)))]
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8').trim()
}
