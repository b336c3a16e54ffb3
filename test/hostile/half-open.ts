/**
 * `npm run half-open [-- KIND …]`: clients lose their network, and so does the server behind a MySQL proxy: no end and no reset
 * of a connection arrives. Prints after how many seconds the server has closed the connections of each kind; exits with 1 if one took too long. It
 * makes a network namespace, which needs root on Linux. The longest kinds take 16 minutes.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, inScope, type Lifetime } from '../launch/lifetime.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { type Servers, startServers } from './half-open-servers.ts'
import { kinds, open, type Plan, type Target } from './vanishing.ts'

const clients = 50
const host = '198.18.77.1'
const prefix = 26
/** In the lost network, behind a MySQL proxy. */
const upstream = { host: '198.18.77.2', port: 3306 }
const addressMin = 3
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

/** How many connections with each of these addresses the processes still hold: the kernel's own have no inode. */
function heldWith(addresses: readonly string[]): number[] {
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  const fields = lines.map((line) => line.trim().split(/\s+/))
  return addresses.map((address) => {
    const remote = `${hexadecimal(address)}:`
    const held = fields.filter((each) => each[2]?.startsWith(remote) && each[9] !== '0')
    // A line is there twice if connections were opened while the file was read.
    return new Set(held.map((each) => `${each[1]} ${each[2]}`)).size
  })
}

/** As the kernel writes an address. */
function hexadecimal(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
  return bytes.reverse().join('').toUpperCase()
}

/** The memory of each process, in MiB. */
function memoryMiB({ pids }: Servers): string {
  const figures = Object.entries(pids).map(([name, pid]) => {
    const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
    return `${name} ${(Number(kib) / 1024).toFixed(0)} MiB`
  })
  return figures.join(', ')
}

const isOfServer = (name: string) => kinds[name]!.transport === 'upstream'

/** The clients of the proxy whose server vanishes: they stay. Returns what sends their last bytes. */
async function openHere(target: Target, addresses: Plan['addresses'], late: boolean): Promise<() => void> {
  const last: (() => void)[] = []
  for (const [name, address] of Object.entries(addresses).filter(([name]) => isOfServer(name))) {
    const kind = kinds[name]!
    if ((kind.isLate ?? false) !== late) continue
    const opening = () => open(target, address, { ...kind, login: kind.login && !late })
    const sockets = await Promise.all(Array.from({ length: clients }, opening))
    for (const socket of sockets) last.push(() => socket.write(kind.sendsLast))
  }
  return () => {
    for (const send of last) send()
  }
}

async function run(lifetime: Lifetime, names: readonly string[]): Promise<void> {
  // Those that the server closes first connect last.
  const order = names.toSorted((one, other) => kinds[other]!.withinS - kinds[one]!.withinS)
  const numbers = order.map((name, at) => [name, addressMin + at] as const)
  const addresses = Object.fromEntries(
    numbers.map(([name, at]) => [name, isOfServer(name) ? `127.77.0.${at}` : `198.18.77.${at}`]),
  )
  const away = Object.fromEntries(Object.entries(addresses).filter(([name]) => !isOfServer(name)))
  const servers = await startServers(lifetime, upstream)
  const { ports } = servers
  const network = new Network(lifetime, [upstream.host, ...Object.values(away)])
  console.log(`before: ${memoryMiB(servers)}`)
  const vanishing = await network.start(lifetime, join(import.meta.dirname, 'vanishing.ts'), {
    ...{ host, ports, clients, upstream },
    addresses: away,
  })
  const here = { host: '127.0.0.1', ports }
  const sendLast = await openHere(here, addresses, false)
  network.dropReplies()
  vanishing.signal('SIGUSR2')
  sendLast()
  await pause(everyMs)
  network.dropRequests()
  await vanishing.kill()
  const startMs = performance.now()
  await openHere(here, addresses, true)
  await pause(everyMs)
  console.log(`with ${clients} clients of each kind: ${memoryMiB(servers)}`)
  await follow(addresses, startMs)
  console.log(`after: ${memoryMiB(servers)}`)
  await checkBehind(servers)
}

/** By the names of the kinds. */
function heldOf(addresses: Plan['addresses']): Map<string, number> {
  const counts = heldWith(Object.values(addresses))
  return new Map(Object.keys(addresses).map((name, at) => [name, counts[at]!]))
}

/** Prints when the connections of each kind have been closed. */
async function follow(addresses: Plan['addresses'], startMs: number): Promise<void> {
  // A busy server accepts some of them late.
  const most = new Map<string, number>()
  console.log('| what vanishes | connections | closed after, s | at most, s | |\n|---|--:|--:|--:|---|')
  const left = { ...addresses }
  while (Object.keys(left).length > 0) {
    const seconds = (performance.now() - startMs) / 1000
    for (const [name, held] of heldOf(left)) {
      const { title, transport, withinS } = kinds[name]!
      const opened = Math.max(held, most.get(name) ?? 0)
      most.set(name, opened)
      if ((held > 0 || opened < clients) && seconds < withinS) continue
      delete left[name]
      const isGood = held === 0 && opened === clients
      if (!isGood) process.exitCode = 1
      const verdict = isGood ? 'pass' : `${held} are open`
      console.log(`| ${transport}: ${title} | ${opened} | ${seconds.toFixed(0)} | ${withinS} | ${verdict} |`)
    }
    await pause(everyMs)
  }
}

/** The connections of a proxy to its server end with those of its clients. */
async function checkBehind({ database }: Servers): Promise<void> {
  const [{ count } = {}] = await database.admin(
    "SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE USER = 'attacker'",
  )
  const counts = { 'the database': Number(count), 'the lost server': heldWith([upstream.host])[0]! }
  for (const [name, open] of Object.entries(counts)) {
    console.log(`connections of the proxies to ${name}: ${open}`)
    if (open > 0) process.exitCode = 1
  }
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !Object.hasOwn(kinds, name))
if (unknown.length > 0) {
  console.error(`no kind ${unknown.join(', ')}; there are ${Object.keys(kinds).join(', ')}`)
  process.exit(1)
}
await inScope((scope) => run(scope, chosen.length > 0 ? chosen : Object.keys(kinds)))
