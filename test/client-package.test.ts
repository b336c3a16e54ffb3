/** What `npm publish` would send of fahao-client, and whether it works where it arrives: in Node, and as a browser loads it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './launch/places.ts'
import { importsOf, readSource } from './tidy/source.ts'

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }

const root = join(import.meta.dirname, '..')

describe('fahao-client', () => {
  const folder = temporaryFolder({ after })
  const installed = join(folder, 'node_modules', 'fahao-client')
  let tarball = ''
  let contents: readonly string[] = []

  before(async () => {
    await run('sh', ['scripts/prepare.sh'], root)
    // Other suites run client/dist/ meanwhile: what is published is built elsewhere.
    const checkout = join(folder, 'checkout')
    await run('node', ['scripts/build.ts', '--out', checkout], root)
    for (const file of ['package.json', 'README.md', 'LICENSE'])
      cpSync(join(root, 'client', file), join(checkout, 'client', file))
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const [only]: Packed[] = Object.values(JSON.parse(await run('npm', args, join(checkout, 'client'))))
    tarball = join(folder, only!.filename)
    contents = only!.files.map(({ path }) => path)
    await run('mkdir', ['-p', installed], folder)
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1'], folder)
  })

  test('holds its code, its types and its source maps, and nothing else', () => {
    const known = /^(?:dist\/[\w-]+(?:\.d\.ts|\.js|\.js\.map)|LICENSE|README\.md|package\.json)$/
    assert.deepEqual(
      contents.filter((path) => !known.test(path)),
      [],
    )
    assert.ok(contents.includes('README.md') && contents.includes('LICENSE'))
    assert.ok(contents.includes('dist/index.d.ts') && contents.includes('dist/typeorm.d.ts'))
  })

  test('passes publint', async () => {
    await run('publint', ['run', tarball, '--strict'], root)
  })

  test('has types that resolve wherever ES modules do', async () => {
    await run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'], root)
  })

  test('imports nothing but its own files by relative paths, and redis when a redis: URL needs it', () => {
    const foreign = new Set<string>()
    for (const [path, text] of modules())
      for (const specifier of importsOf(readSource(text)))
        if (!specifier.startsWith('.') || !specifier.endsWith('.js')) foreign.add(`${path} ${specifier}`)
    assert.deepEqual([...foreign], ['dist/index.js redis'])
    const index = modules().find(([path]) => path === 'dist/index.js')![1]
    assert.match(index, /await import\("redis"\)/)
  })

  test('says what to install where redis is missing', async () => {
    const code = `import { connect } from 'fahao-client'
      await connect('redis://127.0.0.1:1').catch(({ code, message }) => console.log(code, message))`
    const args = ['--input-type=module', '-e', code]
    const said = /^CONFIG .*npm install redis; or use an http: URL/
    assert.match(await run(process.execPath, args, folder), said)
    // What bundlers put into the place of a package that package.json excludes from browsers.
    const empty = join(folder, 'node_modules', 'redis')
    mkdirSync(empty)
    writeFileSync(join(empty, 'index.js'), '')
    assert.match(await run(process.execPath, args, folder), said)
    rmSync(empty, { recursive: true })
  })

  /** Path and text of each module, those that types alone import included. */
  function modules(): [path: string, text: string][] {
    const paths = globSync('dist/**/*.js', { cwd: installed })
    return paths.map((path) => [path, readFileSync(join(installed, path), 'utf8')])
  }
})

/** Runs a program to its end; rejects with what it printed when it fails. */
async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))
  const PATH = `${join(root, 'node_modules', '.bin')}:${env.PATH}`
  try {
    const options = { cwd, env: { ...env, PATH }, maxBuffer: 2 ** 24 }
    return (await promisify(execFile)(program, args, options)).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
