/** The runtimes, and a project of a user in which the packed fahao-client is installed. */
import { existsSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from '../launch/lifetime.ts'
import { installPackages } from '../launch/packages.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { exercise, takeMany } from './exercise.ts'

const root = join(import.meta.dirname, '..', '..')

/** A runtime of JavaScript. */
export type Runtime = {
  readonly name: string
  /** What starts it; a program and its arguments follow. */
  readonly command: readonly string[]
  /** Further flags for a program that starts threads. */
  readonly threadFlags: readonly string[]
}

const main = `import { connect } from 'fahao-client'
import { exercise } from './exercise.js'
const [url, prefix] = process.argv.slice(2)
console.log(JSON.stringify(await exercise(connect, url, prefix)))
`

/** It never closes its client. */
const careless = `import { connect } from 'fahao-client'
import { takeMany } from './exercise.js'
const [url, ...names] = process.argv.slice(2)
console.log(JSON.stringify(await takeMany(connect, url, names, 100)))
`

const alone = `import { connect } from 'fahao-client'
await connect(process.argv[2], { connectTimeoutMs: 300 }).catch(({ code, message }) => console.log(code, message))
`

/** Takes an id, and goes on until a call has failed and a later one has an id. */
const patient = `import { connect } from 'fahao-client'
const client = await connect(process.argv[2], { timeoutMs: 500 })
const order = await client.generator('order')
const ids = [await order.next()]
console.log('has an id')
let code
while (code === undefined || ids.length < 2) {
  try {
    const id = await order.next()
    if (code !== undefined) ids.push(id)
  } catch (error) {
    if (code === undefined) console.log('waits')
    code = error.code
  }
}
await client.close()
console.log(code, ids[1] > ids[0])
`

const threads = `import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { connect } from 'fahao-client'
import { takeMany } from './exercise.js'
if (isMainThread) {
  const [url, count, ...names] = process.argv.slice(2)
  const take = () => new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: [url, names, Number(count)] })
    worker.once('error', reject).once('message', (ids) => {
      resolve(ids)
      void worker.terminate()
    })
  })
  // The last ones begin while others have ended without closing their clients.
  const first = await Promise.all([take(), take(), take()])
  console.log(JSON.stringify([...first, ...(await Promise.all([take(), take()]))]))
} else parentPort.postMessage(await takeMany(connect, ...workerData))
`

/** Answers each request with what it has seen. */
const edge = `import { connect } from 'fahao-client'
import { exercise } from './exercise.js'
export default {
  async fetch(request) {
    const [url, prefix] = await request.json()
    return Response.json(await exercise(connect, url, prefix))
  },
}
`

const page = `import { connect } from 'fahao-client'
Object.assign(globalThis, { bundled: connect })
`

/** Makes the project; returns its folder. @param redis the folder of the package redis that it has. */
export async function makeProject(
  lifetime: Lifetime,
  redis = join(root, 'node_modules', 'redis'),
): Promise<string> {
  // Files of tests that begin at once must not build at once.
  await runProgram(['flock', 'package.json', 'sh', 'scripts/prepare.sh'], { cwd: root })
  const folder = temporaryFolder(lifetime)
  const packed = join(folder, 'node_modules', 'fahao-client')
  mkdirSync(packed, { recursive: true })
  const pack = ['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  const tarball = (await runProgram(pack, { cwd: join(root, 'client') })).trim()
  await runProgram(['tar', '-xzf', join(folder, tarball), '-C', packed, '--strip-components', '1'])
  symlinkSync(redis, join(folder, 'node_modules', 'redis'))
  const dependencies = { 'fahao-client': '*', redis: '*' }
  const files = {
    'package.json': JSON.stringify({ type: 'module', dependencies }),
    'exercise.js': `export ${exercise}\nexport ${takeMany}\n`,
    'main.js': main,
    'careless.js': careless,
    'alone.js': alone,
    'patient.js': patient,
    'threads.js': threads,
    'page.js': page,
    'edge.js': edge,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** Node, Deno and Bun; the last two are installed from npm where they are missing. */
export async function findRuntimes(folder: string): Promise<Runtime[]> {
  await installPackages(import.meta.dirname, 'Deno, Bun and workerd')
  return [
    { name: 'Node', command: [process.execPath], threadFlags: [] },
    // Deno asks for nothing that is not permitted here, and so it fails.
    {
      name: 'Deno',
      command: [
        ...['env', `DENO_DIR=${join(folder, 'deno')}`, 'DENO_NO_UPDATE_CHECK=1'],
        ...[installed('@deno/*/deno'), 'run', '--no-prompt', '--allow-net=127.0.0.1'],
      ],
      // A thread reads its program by itself.
      threadFlags: [`--allow-read=${folder}`],
    },
    { name: 'Bun', command: [installed('@oven/*/bin/bun'), 'run', '--no-install'], threadFlags: [] },
  ]
}

/** Makes one module for browsers of a module of the project and all that it imports, by Bun. */
export async function bundle(folder: string, module: string, into: string): Promise<void> {
  await build(folder, [module, '--outfile', into])
}

/** The same minified, in a new folder, with what is imported later in modules of its own. */
export async function split(folder: string, module: string, into: string): Promise<void> {
  await build(folder, [module, '--minify', '--splitting', '--outdir', into])
}

async function build(folder: string, args: readonly string[]): Promise<void> {
  await installPackages(import.meta.dirname, 'Deno, Bun and workerd')
  await runProgram([installed('@oven/*/bin/bun'), 'build', '--target', 'browser', ...args], { cwd: folder })
}

/** The program of an installed package for this platform, below the folder of packages. */
export function installed(pattern: string): string {
  const [path] = globSync(pattern, { cwd: join(import.meta.dirname, 'node_modules') }).sort()
  const program = join(import.meta.dirname, 'node_modules', path ?? pattern)
  if (!existsSync(program))
    throw new Error(`${pattern} has no program for this platform; see the README of the package`)
  return program
}
