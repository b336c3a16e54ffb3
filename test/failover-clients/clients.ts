/** The clients, in Go, Java, Python and Node: how each is made, and how it is started. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

/** A client: a program that is given the nodes' addresses and a generator, and prints a line for each reply. */
export type Client = {
  /** The library with its version, for the table. */
  readonly name: string
  readonly command: readonly [string, ...string[]]
}

const pythonVersions = ['5.2.1', '8.1.0'] as const

/** Those whose name contains one of `chosen`, or all. Fetches and builds what they need in temporary folders. */
export async function makeClients(lifetime: Lifetime, chosen: readonly string[]): Promise<Client[]> {
  const makers = { 'redis-py': python, go, 'Jedis Lettuce': java, 'ioredis node-redis': nodeClients }
  const isChosen = (text: string) => chosen.length === 0 || chosen.some((each) => text.includes(each))
  const clients: Client[] = []
  for (const [names, make] of Object.entries(makers))
    if (chosen.length === 0 || chosen.some((each) => names.includes(each) || each.includes(names)))
      clients.push(...(await make(lifetime)))
  return clients.filter(({ name }) => isChosen(name))
}

async function python(lifetime: Lifetime): Promise<Client[]> {
  const clients: Client[] = []
  for (const version of pythonVersions) {
    const folder = temporaryFolder(lifetime)
    await runProgram(['python3', '-m', 'venv', folder])
    await runProgram([join(folder, 'bin', 'pip'), 'install', '-q', `redis==${version}`])
    const command = [join(folder, 'bin', 'python'), file('python', 'draw.py')] as const
    clients.push({ name: `redis-py ${version}`, command })
  }
  return clients
}

async function go(lifetime: Lifetime): Promise<Client[]> {
  const built = join(temporaryFolder(lifetime), 'draw')
  await runProgram(['go', 'build', '-o', built, '.'], { cwd: file('go') })
  const listed = await runProgram(['go', 'list', '-m', '-f', '{{.Path}} {{.Version}}', 'all'], {
    cwd: file('go'),
  })
  const version = (path: string) => new RegExp(`^${path} v(\\S+)$`, 'm').exec(listed)?.[1] ?? ''
  const goRedis = `go-redis ${version('github.com/redis/go-redis/v9')}`
  return [
    { name: goRedis, command: [built, 'go-redis'] },
    { name: `${goRedis}: ClusterStateReloadInterval 1 s`, command: [built, 'go-redis-reload'] },
    { name: `rueidis ${version('github.com/redis/rueidis')}`, command: [built, 'rueidis'] },
  ]
}

async function java(lifetime: Lifetime): Promise<Client[]> {
  const target = temporaryFolder(lifetime)
  const goals = [
    'compile',
    'dependency:copy-dependencies',
    `-DoutputDirectory=${target}/libraries`,
    `-Dtarget=${target}`,
  ]
  await runProgram(['mvn', '-B', '-ntp', '-q', '-f', file('java', 'pom.xml'), ...goals])
  const command = (library: string): [string, ...string[]] => [
    'java',
    '-cp',
    `${target}/classes:${target}/libraries/*`,
    'Draw',
    library,
  ]
  return [
    { name: 'Jedis 8.0.2, JedisCluster', command: command('jedis') },
    { name: 'Lettuce 7.7.0', command: command('lettuce') },
    {
      name: 'Lettuce 7.7.0: adaptive refresh each second, 6 s time-out',
      command: command('lettuce-options'),
    },
  ]
}

/** The libraries of this repository's own tests. */
export function nodeClients(): Client[] {
  const require = createRequire(import.meta.url)
  const { version: ioredis } = require('ioredis/package.json') as { version: string }
  const { version: redis } = require('redis/package.json') as { version: string }
  const command = (library: string) => [process.execPath, file('node', 'draw.mjs'), library] as const
  return [
    { name: `ioredis ${ioredis}`, command: command('ioredis') },
    { name: `node-redis ${redis}`, command: command('node-redis') },
  ]
}

function file(...path: string[]): string {
  return join(import.meta.dirname, ...path)
}
