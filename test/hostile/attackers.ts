/**
 * A process of hostile clients: `node test/hostile/attackers.ts PLAN`, a JSON. It ends after the seconds of its plan, and
 * prints what happened to the clients.
 */
import { execFile } from 'node:child_process'
import { createConnection, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Attack } from './attack.ts'
import { attacks } from './attacks.ts'

/** Which attack, on what, how large and how long. */
export type Plan = {
  readonly name: string
  readonly port: number
  readonly clients: number
  readonly seconds: number
  /** Sent first by clients that log in, as Latin-1. */
  readonly login: string
}

/** The transports whose clients log in once the server has greeted them, and send nothing before its answer. */
const greeted: readonly Attack['transport'][] = ['mysql']

/** What happened to the clients. */
export type Outcome = {
  readonly opened: number
  /** Most connections that were open at once. */
  readonly most: number
  /** Connections that the server has ended, and that could not be opened. */
  readonly ended: number
  readonly failed: number
  readonly bytesSent: number
  readonly bytesRead: number
}

/** Source addresses: each has its own ports. */
const sources = 8
const everyMs = 20
/** How long a client waits before it connects again, in ms. */
const returnsAfterMs = 100
/** Behind the server and the clients that are measured, as if on another machine. */
const priority = 10
const outputMax = 2 ** 20

/** Runs an attack in a process of its own. */
export async function attack(plan: Plan): Promise<Outcome> {
  const args = [import.meta.filename, JSON.stringify(plan)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: outputMax })
  return JSON.parse(stdout) as Outcome
}

class Crowd {
  readonly #attack: Attack
  readonly #plan: Plan
  readonly #sockets = new Set<Socket>()
  /** How many connections are to be opened, in addition to those that are open. */
  #due: number
  #over = false
  opened = 0
  most = 0
  ended = 0
  failed = 0
  bytesSent = 0
  bytesRead = 0

  constructor(attack: Attack, plan: Plan) {
    this.#attack = attack
    this.#plan = plan
    this.#due = plan.clients
  }

  async run(): Promise<Outcome> {
    const endMs = performance.now() + this.#plan.seconds * 1000
    const second = setInterval(() => this.#eachSecond(), 1000)
    let allowed = 0
    let lastMs = performance.now()
    while (performance.now() < endMs) {
      const nowMs = performance.now()
      allowed = Math.min(this.#attack.perSecond, allowed + ((nowMs - lastMs) / 1000) * this.#attack.perSecond)
      lastMs = nowMs
      for (; allowed >= 1 && this.#due > 0; allowed--) this.#open()
      await pause(everyMs)
    }
    clearInterval(second)
    this.#over = true
    for (const socket of this.#sockets) {
      this.#count(socket)
      socket.resetAndDestroy()
    }
    const { opened, most, ended, failed, bytesSent, bytesRead } = this
    return { opened, most, ended, failed, bytesSent, bytesRead }
  }

  #open(): void {
    this.#due--
    const localAddress = this.#attack.login ? '127.0.0.1' : `127.0.0.${2 + (this.opened % sources)}`
    const socket = createConnection({ port: this.#plan.port, host: '127.0.0.1', localAddress })
    this.opened++
    this.#sockets.add(socket)
    this.most = Math.max(this.most, this.#sockets.size)
    let connected = false
    socket.once('connect', () => {
      connected = true
      this.#start(socket)
    })
    socket.on('error', () => {})
    socket.once('close', () => this.#closed(socket, connected))
  }

  #closed(socket: Socket, connected: boolean): void {
    if (this.#over) return
    this.#sockets.delete(socket)
    this.#count(socket)
    const { returns } = this.#attack
    if (!connected) this.failed++
    else if (returns !== 'hastily') this.ended++
    if (returns === 'hastily') this.#due++
    else if (returns === 'when closed') setTimeout(() => this.#due++, returnsAfterMs)
  }

  #count({ bytesRead, bytesWritten, writableLength }: Socket): void {
    this.bytesRead += bytesRead
    this.bytesSent += bytesWritten - writableLength
  }

  #start(socket: Socket): void {
    const { login } = this.#plan
    if (login === '' || !greeted.includes(this.#attack.transport)) {
      if (login !== '') socket.write(login, 'latin1')
      return this.#act(socket)
    }
    socket.once('readable', () => {
      socket.read()
      socket.write(login, 'latin1')
      socket.once('readable', () => {
        socket.read()
        this.#act(socket)
      })
    })
  }

  #act(socket: Socket): void {
    const { request, sends, reads, returns } = this.#attack
    if (reads === 'all') socket.resume()
    if (sends === 'once') socket.write(request)
    if (sends === 'repeatedly') this.#repeat(socket)
    // A reset leaves no port behind that has to wait.
    if (returns === 'hastily') setTimeout(() => socket.resetAndDestroy(), 1)
  }

  #repeat(socket: Socket): void {
    const more = () => socket.write(this.#attack.request, () => socket.writable && more())
    more()
  }

  #eachSecond(): void {
    const { request, sends, reads } = this.#attack
    for (const socket of this.#sockets) {
      if (socket.connecting) continue
      if (sends === 'byte')
        socket.write(request.subarray(socket.bytesWritten % request.length).subarray(0, 1))
      if (reads === 'chunk') socket.read()
    }
  }
}

if (import.meta.main) {
  setPriority(priority)
  const plan = JSON.parse(process.argv[2]!) as Plan
  const outcome = await new Crowd(attacks[plan.name]!, plan).run()
  process.stdout.write(JSON.stringify(outcome), () => process.exit(0))
}
