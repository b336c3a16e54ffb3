/** What `npm publish` would send, and whether it works where it arrives. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './launch/places.ts'

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }

const runFile = promisify(execFile)
const root = join(import.meta.dirname, '..')
const manifest: {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

describe('the package', () => {
  const folder = temporaryFolder({ after })
  let tarball = ''
  let contents: readonly string[] = []

  before(async () => {
    await run('sh', ['scripts/prepare.sh'])
    // dist/ has just been made sure of; prepack would build it under the feet of suites that run meanwhile.
    const packed = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder])
    const [only]: Packed[] = Object.values(JSON.parse(packed))
    tarball = join(folder, only!.filename)
    contents = only!.files.map(({ path }) => path)
  })

  test('holds what users need, and nothing of the workshop', () => {
    const wanted = [
      'README.md',
      'README.zh-CN.md',
      'CHANGELOG.md',
      'LICENSE',
      'package.json',
      'examples/fahao.yaml',
    ]
    const entries = ['dist/index.js', 'dist/index.d.ts', 'dist/ids.js', 'dist/ids.d.ts', 'dist/cli/fahao.js']
    assert.deepEqual(
      [...wanted, ...entries].filter((path) => !contents.includes(path)),
      [],
    )
    const known = /^(?:(?:client\/)?dist\/[\w/-]+(?:\.d\.ts|\.js)|examples\/[\w.-]+|[\w.-]+)$/
    assert.deepEqual(
      contents.filter((path) => !known.test(path) || /test/.test(path)),
      [],
    )
  })

  test('passes publint', async () => {
    await run('publint', ['run', tarball, '--strict'])
  })

  test('has types that resolve wherever ES modules do', async () => {
    await run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'])
  })

  describe('installed', () => {
    const installed = join(folder, 'node_modules', 'fahao')

    before(async () => {
      mkdirSync(installed, { recursive: true })
      await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1'])
      for (const name of Object.keys(manifest.dependencies)) linkDependency(name)
    })

    function linkDependency(name: string): void {
      const path = join(folder, 'node_modules', name)
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), path)
    }

    function evaluate(code: string): Promise<string> {
      return run(process.execPath, ['--input-type=module', '-e', code], folder)
    }

    test("gives ids without an engine: import 'fahao/ids'", async () => {
      const code = `import { snowflake, layouts } from 'fahao/ids'
        console.log(typeof snowflake({ layout: layouts.twitter, workerId: 7 }).next())`
      assert.equal(await evaluate(code), 'bigint\n')
    })

    test("opens a node in process: import 'fahao'", async () => {
      const code = `import { openFahao } from 'fahao'
        const fahao = await openFahao({ engine: 'memory:' })
        const order = await fahao.open('order', { kind: 'sequence', start: 1n })
        console.log(await order.next())
        await fahao[Symbol.asyncDispose]()`
      assert.equal(await evaluate(code), '1n\n')
    })

    test('has the client that the MySQL proxy takes ids with', async () => {
      const code = `const { clientSupply } = await import('${join(installed, 'dist', 'cli', 'client-supply.js')}')
        const supply = await clientSupply({ urls: ['http://127.0.0.1:1'], timeoutMs: 1000 })
        await supply.close()
        console.log('closed')`
      assert.equal(await evaluate(code), 'closed\n')
    })

    test('has a command line that explains itself', async () => {
      const help = await run(process.execPath, [join(installed, manifest.bin.fahao!), '--help'], folder)
      assert.match(help, /\bserve\b/)
    })
  })
})

/** Runs a program to its end; rejects with what it printed when it fails. */
async function run(program: string, args: readonly string[], cwd = root): Promise<string> {
  // npm tells its scripts what npm itself was told; a second npm must not take that for its own flags.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))
  const PATH = `${join(root, 'node_modules', '.bin')}:${env.PATH}`
  try {
    const { stdout } = await runFile(program, args, { cwd, env: { ...env, PATH }, maxBuffer: 2 ** 24 })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
