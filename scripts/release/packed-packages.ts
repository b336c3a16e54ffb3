/** The packed packages, used as a user does. This needs npm, and nothing that the repository installs. */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inScope } from '../../test/launch/lifetime.ts'
import { freePort } from '../../test/launch/places.ts'
import { startProcess } from '../../test/launch/process.ts'
import { runProgram } from '../../test/launch/program.ts'
import { RawClient } from '../../test/launch/raw-client.ts'

/** Programs of a user, which get an empty folder as their argument, and what each prints. */
const programs: readonly (readonly [what: string, file: string, code: string, prints: RegExp])[] = [
  [
    "`import 'fahao'`",
    'library.mjs',
    `import { openFahao } from 'fahao'
const fahao = await openFahao({ engine: 'sqlite:' + process.argv[2] + '/library.db' })
const order = await fahao.open('order', { kind: 'sequence', start: 1n })
console.log(await order.next(), await order.next())
await fahao[Symbol.asyncDispose]()
`,
    /^1n 2n$/,
  ],
  [
    "`import 'fahao/ids'`",
    'ids.mjs',
    `import { layouts, snowflake } from 'fahao/ids'
console.log(typeof snowflake({ layout: layouts.twitter, workerId: 7 }).next())
`,
    /^bigint$/,
  ],
  [
    "`require('fahao')`",
    'required.cjs',
    `const { openFahao } = require('fahao')
const { snowflake } = require('fahao/ids')
const { connect } = require('fahao-client')
console.log(typeof openFahao, typeof snowflake, typeof connect)
`,
    /^function function function$/,
  ],
]

const client = `import { connect } from 'fahao-client'
const client = await connect(process.argv[2])
const order = await client.generator('order')
console.log(await order.next())
await client.close()
`

/** Installs tarballs in a new, empty project. Returns how much npm has put there. */
export async function installTarballs(project: string, tarballs: readonly string[]) {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private":true}')
  // npm tells its scripts what npm itself was told; a second npm must not take that for its own settings.
  const told = Object.keys(process.env).filter((name) => /^npm_/i.test(name))
  const npm = ['env', ...told.flatMap((name) => ['-u', name]), 'npm', 'install', '--no-audit', '--no-fund']
  await runProgram([...npm, ...tarballs.map((path) => resolve(path))], { cwd: project })
  const files = readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' })
  const packages = files.filter((path) =>
    /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path),
  )
  const bytes = files.reduce((sum, path) => sum + lstatSync(join(project, 'node_modules', path)).size, 0)
  return { packages: packages.length, bytes }
}

/** Uses the packages of a project with a Node. Returns what was done; rejects with what did not work. */
export async function useProject(project: string, node = process.execPath): Promise<string[]> {
  const done: string[] = []
  const folder = mkdtempSync(join(project, 'used-'))
  for (const [what, file, code, prints] of programs) {
    writeFileSync(join(project, file), code)
    const printed = (await runProgram([node, file, folder], { cwd: project })).trim()
    if (!prints.test(printed)) throw new Error(`${what} printed ${printed}, not ${prints}`)
    done.push(what)
  }
  await inScope(async (scope) => {
    const [resp, http] = [await freePort(), await freePort()]
    const bin = join(project, 'node_modules', '.bin', 'fahao')
    const addresses = ['--resp', `127.0.0.1:${resp}`, '--http', `127.0.0.1:${http}`]
    const args = [
      bin,
      'serve',
      '--engine',
      `sqlite:${join(folder, 'served.db')}`,
      ...addresses,
      '--auto-create',
      '*=sequence',
    ]
    const server = await startProcess(scope, { command: node, args, cwd: project, readyWhen: { port: http } })
    const redis = await RawClient.connect(resp, scope)
    const first = await redis.command('INCR', 'order')
    writeFileSync(join(project, 'client.mjs'), client)
    const second = (
      await runProgram([node, 'client.mjs', `http://127.0.0.1:${http}`], { cwd: project })
    ).trim()
    const { code } = await server.kill('SIGTERM')
    if (Number(first) !== 1 || second !== '2n' || code !== 0)
      throw new Error(`INCR gave ${first}, the client ${second}, the end ${code}\n${server.output()}`)
    done.push('`fahao serve` and `INCR`', 'an id by `fahao-client`')
  })
  return done
}
