/**
 * npm run package:binary -- [FOLDER] [--arch x64|arm64]: one executable file, a single executable application of Node.js, with
 * the server, its threads, the drivers of MySQL and PostgreSQL, PostgreSQL's parser and the log for people. Default: release/.
 *
 * Node.js is that of the package `node` in this repository. For another processor npm gets the same version of it.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { type Plugin, rolldown } from 'rolldown'
import { inOneByte, licencesOf, neverLoaded, packagesOf, threads } from '../bundles.ts'
import { buildConsole } from '../console.ts'
import { repository, version } from './facts.ts'

/** A processor, as Node.js calls it. */
export type Processor = 'x64' | 'arm64'

/** Where artifacts go, unless another folder is named. */
export const releaseFolder = join(repository, 'release')

/** The words by which an executable of Node.js finds what was injected into it. */
const blobName = 'NODE_SEA_BLOB'
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const parser = 'libpg-query.wasm'
/** Not built in: what is never loaded, and what pg tries to load for other drivers and places. */
const outside = [...neverLoaded, 'pg-native', 'cloudflare:sockets']
const mainModule = 'fahao:main'

/**
 * Makes the executable in the folder `out`, and beside it the licences of all that it contains; resolves to its path, and to theirs.
 */
export async function buildBinary(
  out: string,
  processor: Processor = 'x64',
): Promise<{ readonly executable: string; readonly licences: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-binary-'))
  const inFolder = (name: string) => join(folder, name)
  try {
    const main = await bundle(mainModule, inFolder('main.js'))
    const assets: Record<string, string> = {
      [parser]: join(repository, 'node_modules/libpg-query/wasm', parser),
    }
    for (const [name, source] of Object.entries(threads)) {
      const file = `${name}.js`
      await bundle(join(repository, source), inFolder(file))
      assets[file] = inFolder(file)
    }
    const inConsole = await buildConsole(inFolder('console'))
    for (const name of readdirSync(inFolder('console')))
      assets[`console/${name}`] = join(inFolder('console'), name)
    const config = {
      main: inFolder('main.js'),
      output: inFolder('blob'),
      assets,
      disableExperimentalSEAWarning: true,
      // Compiled code is for one processor.
      useCodeCache: processor === process.arch,
    }
    writeFileSync(inFolder('config.json'), JSON.stringify(config))
    const node = nodeFor(processor, folder)
    run('--experimental-sea-config', inFolder('config.json'))
    mkdirSync(out, { recursive: true })
    const executable = join(out, `fahao-${version}-linux-${processor}`)
    copyFileSync(node.executable, executable)
    chmodSync(executable, 0o755)
    const postject = join(repository, 'node_modules/postject/dist/cli.js')
    run(postject, executable, blobName, config.output, '--sentinel-fuse', sentinelFuse)
    const licences = `${executable}-LICENSES.txt`
    const ownLicence = readFileSync(join(repository, 'LICENSE'), 'utf8')
    const packages = licencesOf('The executable also', packagesOf([...main, ...inConsole]))
    writeFileSync(
      licences,
      [ownLicence, packages, `Node.js\n\n${readFileSync(node.licence, 'utf8')}`].join(
        `\n${'='.repeat(80)}\n\n`,
      ),
    )
    return { executable, licences }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs this machine's Node.js of the repository; shows what it prints only if it fails. */
function run(...args: readonly string[]): void {
  execFileSync(join(repository, 'node_modules/node/bin/node'), args, { stdio: 'pipe' })
}

/**
 * Bundles a module with all that it imports into one CommonJS file, the only form that an executable starts with; returns the files
 * of which code is in it.
 */
async function bundle(input: string, file: string): Promise<string[]> {
  const build = await rolldown({
    cwd: repository,
    platform: 'node',
    input,
    external: outside,
    plugins: [inOneFile],
  })
  const minify = { compress: false, mangle: false, codegen: { removeWhitespace: true } }
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false, minify })
  await build.close()
  writeFileSync(file, inOneByte(output[0].code))
  return output[0].moduleIds.map((path) => relative(repository, path))
}

const inOneFile: Plugin = {
  name: 'in-one-file',
  resolveId: (id) => (id === mainModule ? id : null),
  load: (id) =>
    id === mainModule
      ? `import { main } from '${join(repository, 'src/cli/main.ts')}'
main(process.argv).then((code) => { process.exitCode = code })`
      : null,
  transform(code, id) {
    if (!id.endsWith('/libpg-query/wasm/libpg-query.js')) return null
    // Otherwise it reads a file beside its own.
    const changed = code.replace(
      'async function getWasmBinary(binaryFile){',
      `$&return new Uint8Array(require('node:sea').getRawAsset('${parser}'));`,
    )
    if (changed === code) throw new Error(`${id} has changed: find where it now reads ${parser}`)
    return { code: changed }
  },
}

/** Node.js for a processor. `folder`: where it is put if npm has to get it. */
function nodeFor(
  processor: Processor,
  folder: string,
): { readonly executable: string; readonly licence: string } {
  const packages = join(repository, 'node_modules/node')
  const name = `node-linux-${processor}`
  let own = join(packages, 'node_modules', name)
  if (!existsSync(own)) {
    const { version: wanted } = JSON.parse(readFileSync(join(packages, 'package.json'), 'utf8'))
    const pack = ['pack', `${name}@${wanted}`, '--silent', '--pack-destination', folder]
    const packed = execFileSync('npm', pack, { encoding: 'utf8' }).trim()
    execFileSync('tar', ['-xzf', join(folder, packed), '-C', folder, 'package/bin/node', 'package/LICENSE'])
    own = join(folder, 'package')
  }
  return { executable: join(own, 'bin/node'), licence: join(own, 'LICENSE') }
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ options: { arch: { type: 'string' } }, allowPositionals: true })
  const { arch = process.arch } = values
  if (arch !== 'x64' && arch !== 'arm64') throw new Error(`--arch ${arch}: give x64 or arm64`)
  console.log((await buildBinary(positionals[0] ?? releaseFolder, arch)).executable)
}
