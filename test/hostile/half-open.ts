/**
 * `npm run half-open [-- KIND …]`: clients lose their network, so that no end and no reset of a connection reaches the server.
 * Prints after how many seconds the server has closed the connections of each kind; exits with 1 if one took too long. It
 * makes a network namespace, which needs root on Linux. The longest kind takes 16 minutes.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FahaoServer } from '../launch/fahao.ts'
import { atEnd, inScope, type Lifetime } from '../launch/lifetime.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { password } from './attack.ts'
import { kinds, type Plan } from './vanishing.ts'

const clients = 50
const host = '198.18.77.1'
const prefix = 26
/** A hardware address that no interface has. */
const nowhere = '02:00:00:00:00:01'
const everyMs = 250
const readyWithinMs = 60_000

/** A network of the clients alone. The last part of their addresses is given. */
class Network {
  readonly #name = `fahao${process.pid}`
  readonly #addresses: readonly string[]

  constructor(lifetime: Lifetime, addresses: readonly string[]) {
    this.#addresses = addresses
    const [here, there] = [`${this.#name}h`, `${this.#name}c`]
    ip('netns', 'add', this.#name)
    // Its interface goes with it, and so does the other end.
    atEnd(lifetime, () => ip('netns', 'del', this.#name))
    ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', this.#name)
    ip('addr', 'add', `${host}/${prefix}`, 'dev', here)
    ip('link', 'set', here, 'up')
    for (const address of addresses) ip('-n', this.#name, 'addr', 'add', `${address}/${prefix}`, 'dev', there)
    ip('-n', this.#name, 'link', 'set', there, 'up')
  }

  start(lifetime: Lifetime, program: string, plan: Plan): Promise<RunningProcess> {
    const args = ['netns', 'exec', this.#name, process.execPath, program, JSON.stringify(plan)]
    return startProcess(lifetime, { command: 'ip', args, readyWhen: { line: /ready/ }, readyWithinMs })
  }

  /** From now on nothing reaches the clients. */
  dropReplies(): void {
    for (const address of this.#addresses)
      ip('neigh', 'replace', address, 'lladdr', nowhere, 'nud', 'permanent', 'dev', `${this.#name}h`)
  }

  /** From now on nothing of the clients reaches the server. */
  dropRequests(): void {
    ip('-n', this.#name, 'route', 'add', 'blackhole', `${host}/32`)
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args)
}

/** How many connections of a client's address the process still holds: the kernel's own have no inode. */
function heldFrom(address: string): number {
  const hexadecimal = address
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
  const remote = `${hexadecimal.join('').toUpperCase()}:`
  const lines = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return lines.filter((fields) => fields[2]?.startsWith(remote) && fields[9] !== '0').length
}

async function startServer(lifetime: Lifetime, ports: Plan['ports']): Promise<FahaoServer> {
  const options = {
    engine: `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`,
    args: ['--resp', `0.0.0.0:${ports.resp}`, '--http', `0.0.0.0:${ports.http}`],
    env: { FAHAO_ADMIN_PASSWORD: password },
  }
  const server = new FahaoServer(lifetime, options, ports.resp, ports.http)
  await server.start()
  const client = await server.connect()
  await client.command('AUTH', 'admin', password)
  await client.command('ID.CREATE', 'target', 'KIND', 'sequence')
  await client.close()
  return server
}

function memoryMiB({ pid }: FahaoServer): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

async function run(lifetime: Lifetime, names: readonly string[]): Promise<void> {
  const addresses = Object.fromEntries(names.map((name, at) => [name, `198.18.77.${at + 2}`]))
  const ports = { resp: await freePort(), http: await freePort() }
  const server = await startServer(lifetime, ports)
  const network = new Network(lifetime, Object.values(addresses))
  const before = memoryMiB(server)
  const vanishing = await network.start(lifetime, join(import.meta.dirname, 'vanishing.ts'), {
    host,
    ports,
    clients,
    addresses,
  })
  const opened = new Map(names.map((name) => [name, heldFrom(addresses[name]!)]))
  network.dropReplies()
  vanishing.signal('SIGUSR2')
  await pause(everyMs)
  network.dropRequests()
  await vanishing.kill()
  const startMs = performance.now()
  console.log(
    `${memoryMiB(server).toFixed(0)} MiB with ${clients} clients of each kind, ${before.toFixed(0)} MiB before`,
  )
  console.log('| clients that vanish | connections | closed after, s | at most, s | |\n|---|--:|--:|--:|---|')
  const left = new Set(names)
  for (let seconds = 0; left.size > 0; seconds = (performance.now() - startMs) / 1000) {
    for (const name of left) {
      const { title, transport, withinS } = kinds[name]!
      const held = heldFrom(addresses[name]!)
      if (held > 0 && seconds < withinS) continue
      left.delete(name)
      const isGood = held === 0 && opened.get(name) === clients
      if (!isGood) process.exitCode = 1
      const verdict = isGood ? 'pass' : `${held} are open`
      console.log(
        `| ${transport}: ${title} | ${opened.get(name)} | ${seconds.toFixed(0)} | ${withinS} | ${verdict} |`,
      )
    }
    await pause(everyMs)
  }
  console.log(`${memoryMiB(server).toFixed(0)} MiB after`)
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(kinds, name))
if (unknown.length > 0) {
  console.error(`no kind ${unknown.join(', ')}; there are ${Object.keys(kinds).join(', ')}`)
  process.exit(1)
}
await inScope((scope) => run(scope, chosen.length > 0 ? chosen : Object.keys(kinds)))
