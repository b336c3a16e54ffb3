/** What `npm publish` would send, and whether it works where it is all that is installed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './launch/places.ts'

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }

const runFile = promisify(execFile)
const root = join(import.meta.dirname, '..')
const {
  files,
  bin,
  peerDependencies,
}: {
  readonly files: readonly string[]
  readonly bin: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

describe('the package', () => {
  const folder = temporaryFolder({ after })
  const checkout = join(folder, 'checkout')
  /** A folder in which the package is all that is installed. */
  const project = join(folder, 'project')
  const installed = join(project, 'node_modules', 'fahao')
  let tarball = ''
  let contents: readonly string[] = []

  before(async () => {
    await run('sh', ['scripts/prepare.sh'])
    // Other suites run dist/ meanwhile: what is published is built elsewhere.
    await run('node', ['scripts/build.ts', '--out', checkout])
    const others = files.filter((file) => file !== 'dist')
    for (const file of ['package.json', 'README.md', 'LICENSE', ...others])
      cpSync(join(root, file), join(checkout, file), { recursive: true })
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const [only]: Packed[] = Object.values(JSON.parse(await run('npm', args, checkout)))
    tarball = join(folder, only!.filename)
    contents = only!.files.map(({ path }) => path)
    mkdirSync(installed, { recursive: true })
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1'])
  })

  test('holds what users need, and nothing else', () => {
    const documents = ['README.md', 'README.zh-CN.md', 'CHANGELOG.md', 'LICENSE', 'package.json']
    const entries = [
      'dist/index.js',
      'dist/index.d.ts',
      'dist/ids.js',
      'dist/ids.d.ts',
      'dist/fahao.js',
      'dist/console/index.html',
      'dist/console/docs.html',
    ]
    const operating = ['ops/prometheus/alerts.yml', 'ops/grafana/fahao.json']
    const legal = ['dist/THIRD-PARTY-LICENSES.txt', 'dist/sbom.cdx.json']
    assert.deepEqual(
      [...documents, ...entries, ...legal, ...operating, 'examples/fahao.yaml'].filter(
        (path) => !contents.includes(path),
      ),
      [],
    )
    const known =
      /^(?:dist\/[\w-]+(?:\.d\.ts|\.js|\.js\.map)|dist\/console\/(?:(?:index|docs)\.html|(?:console|docs|viewer)-\w+\.(?:js|css))|examples\/[\w.-]+)$/
    assert.deepEqual(
      contents.filter((path) => !known.test(path) && ![...documents, ...legal, ...operating].includes(path)),
      [],
    )
  })

  test('takes at most 15 MB, and brings no other package', () => {
    const bytes = contents.reduce((sum, path) => sum + statSync(join(installed, path)).size, 0)
    assert.ok(bytes <= 15_000_000, `it takes ${bytes} bytes`)
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    assert.deepEqual([manifest.dependencies, manifest.optionalDependencies], [undefined, undefined])
  })

  test('passes publint', async () => {
    await run('publint', ['run', tarball, '--strict'])
  })

  test('has types that resolve wherever ES modules do', async () => {
    await run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'])
  })

  test('has types that stand alone, without what is internal', async () => {
    const declared = contents.filter((path) => path.endsWith('.d.ts'))
    const imports = declared.flatMap((path) =>
      [...readFileSync(join(installed, path), 'utf8').matchAll(/from "([^"]+)"/g)].map(([, from]) => from!),
    )
    assert.deepEqual(
      imports.filter((from) => !/^\.\/[\w-]+-shared\.js$/.test(from)),
      [],
    )
    const code = `import { openFahao, type Fahao, FahaoError } from 'fahao'
      import { decode, layouts } from 'fahao/ids'
      export async function first(fahao: Fahao): Promise<bigint> {
        const order = await fahao.open('order', { kind: 'sequence', start: 10n ** 18n })
        return order.next()
      }
      export const parts = decode(layouts.twitter, 1n)
      export { openFahao, FahaoError }`
    writeFileSync(join(project, 'user.ts'), code)
    const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023']
    await run('tsc', [...flags, 'user.ts'], project)
  })

  test('has one class of errors with fahao/ids and fahao-client, for programs and for their types', async () => {
    cpSync(join(root, 'client/package.json'), join(checkout, 'client/package.json'))
    symlinkSync(join(checkout, 'client'), join(project, 'node_modules', 'fahao-client'))
    const code = `import { FahaoError as OfLibrary } from 'fahao'
      import { FahaoError as OfIds } from 'fahao/ids'
      import { FahaoError as OfClient } from 'fahao-client'
      const client: OfClient = new OfLibrary('DRY', 'x')
      const library: OfLibrary = new OfIds('DRY', 'x')
      const ids: OfIds = new OfClient('DRY', 'x')
      for (const error of [client, library, ids] as unknown[])
        if (!(error instanceof OfClient && error instanceof OfLibrary && error instanceof OfIds && error.code === 'DRY'))
          throw error
      console.log(new Set<unknown>([OfClient, OfLibrary, OfIds]).size)`
    writeFileSync(join(project, 'errors.mts'), code)
    const flags = [
      '--strict',
      '--noEmit',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'esnext,dom',
    ]
    await run('tsc', [...flags, '--skipLibCheck', '--types', '', 'errors.mts'], project)
    assert.equal(await run('node', ['errors.mts'], project), '2\n')
  })

  test('has source maps that name files and lines of the source', async () => {
    const code = `import { openFahao } from 'fahao'
      const fahao = await openFahao({ engine: 'memory:' })
      await fahao.open('absent').catch((error) => console.log(error.stack))`
    const stack = await run('node', ['--enable-source-maps', '--input-type=module', '-e', code], project)
    assert.match(stack, /src\/catalogue\/[\w-]+\.ts:\d+/)
  })

  describe('its bill of materials', () => {
    type Component = {
      readonly purl: string
      readonly hashes: readonly { readonly alg: string }[]
      readonly licenses: readonly {
        readonly license?: { readonly id: string }
        readonly expression?: string
      }[]
    }
    let components: readonly Component[] = []

    before(() => {
      const bill = JSON.parse(readFileSync(join(installed, 'dist/sbom.cdx.json'), 'utf8'))
      assert.equal(bill.bomFormat, 'CycloneDX')
      components = bill.components
    })

    test('lists the packages that source maps name, each with its hash', () => {
      const sources = contents
        .filter((path) => path.endsWith('.map'))
        .flatMap((path) => JSON.parse(readFileSync(join(installed, path), 'utf8')).sources as string[])
      const folders = sources.flatMap(
        (path) => /node_modules\/(?:@[^/]+\/)?[^/]+(?=\/(?!.*node_modules))/.exec(path) ?? [],
      )
      // The code of the console has no source map.
      const ofConsole = ['preact', 'swagger-ui-dist', 'uplot']
      const named = new Set([...folders.map((path) => path.slice('node_modules/'.length)), ...ofConsole])
      const listed = components.map(({ purl }) => decodeURIComponent(purl.replace(/^pkg:npm\/|@[^@]*$/g, '')))
      assert.ok(named.size > 20)
      assert.deepEqual(new Set(listed), named)
      for (const { hashes } of components)
        assert.deepEqual(
          hashes.map(({ alg }) => alg),
          ['SHA-512'],
        )
    })

    test('has only licences that allow use in any product, and the text of each is there', () => {
      const allowed = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0']
      const others = components.filter(({ licenses }) =>
        licenses.some(({ license, expression }) =>
          (license?.id ?? expression ?? '')
            .replaceAll(/[()]/g, '')
            .split(/ (?:AND|OR) /)
            .some((id) => !allowed.includes(id)),
        ),
      )
      assert.deepEqual(others, [])
      const texts = readFileSync(join(installed, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8')
      for (const { purl } of components) {
        const [, name, version] = /^pkg:npm\/(.*)@([^@]*)$/.exec(decodeURIComponent(purl))!
        assert.ok(texts.includes(`\n${name} ${version} (`), purl)
      }
    })
  })

  describe('installed alone', () => {
    const program = join(installed, bin.fahao!)

    function evaluate(code: string): Promise<string> {
      return run('node', ['--input-type=module', '-e', code], project)
    }

    test("gives ids without an engine: import 'fahao/ids'", async () => {
      const code = `import { snowflake, layouts } from 'fahao/ids'
        console.log(typeof snowflake({ layout: layouts.twitter, workerId: 7 }).next())`
      assert.equal(await evaluate(code), 'bigint\n')
    })

    test("opens a node in process: import 'fahao'", async () => {
      const code = `import { openFahao } from 'fahao'
        const fahao = await openFahao({ engine: 'sqlite:${join(folder, 'ids.db')}' })
        const order = await fahao.open('order', { kind: 'sequence', start: 1n })
        console.log(await order.next())
        await fahao[Symbol.asyncDispose]()`
      assert.equal(await evaluate(code), '1n\n')
    })

    test("is loaded by require('fahao') too", async () => {
      const code = `const { openFahao } = require('fahao')
        openFahao({ engine: 'memory:' }).then((fahao) => fahao.close()).then(() => console.log('closed'))`
      assert.equal(await run('node', ['-e', code], project), 'closed\n')
    })

    test('has a command line that explains itself, and says its version', async () => {
      assert.match(await run('node', [program, '--help'], project), /\bserve\b/)
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      assert.equal(await run('node', [program, '--version'], project), `${version}\n`)
    })

    /** What needs each of the optional packages. */
    const uses: Readonly<Record<string, readonly string[]>> = {
      pg: ['serve', '--engine', 'postgres://u:p@127.0.0.1:1/d'],
      mysql2: ['serve', '--engine', 'mysql://u:p@127.0.0.1:1/d'],
      'libpg-query': [
        'serve',
        '--engine',
        'memory:',
        '--resp',
        'off',
        '--http',
        'off',
        '--postgres',
        '127.0.0.1:0',
      ],
    }
    for (const [name, args] of Object.entries(uses)) {
      test(`says how ${name} is installed when it is needed`, async () => {
        await assert.rejects(run('node', [program, ...args], project), new RegExp(`npm install ${name}@`))
      })
    }

    test('has a sentence for each optional package', () => {
      // Without mysql2 the proxy cannot look at tables; without pino-pretty a terminal gets JSON: see cli/log.ts.
      // With an SDK of OpenTelemetry and without its API the log has a warning.
      assert.deepEqual(Object.keys(peerDependencies), [
        '@opentelemetry/api',
        ...['libpg-query', 'mysql2', 'pg', 'pino-pretty'],
      ])
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
