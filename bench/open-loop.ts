/**
 * An open loop: requests are sent at a fixed rate, independent of answers, and each is timed from the moment when it was
 * due. So a stall counts for every request that was due in it.
 */
import { connect, type Socket } from 'node:net'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { encodeCommand } from '../test/launch/raw-client.ts'

/** The requests, and the duration. */
export type OpenLoop = {
  readonly port: number
  /** Sent in turn. Each must be answered by one line. */
  readonly commands: readonly (readonly string[])[]
  readonly connections: number
  readonly ratePerSecond: number
  readonly seconds: number
  /** Called for each error reply; without it the first one ends the loop. */
  readonly refused?: () => void
}

const newline = 10
const dash = 45
const drainMs = 10_000

/** Sends at the rate; resolves to the latencies, in ns, once all is answered. Rejects on an error reply. */
export async function openLoop(load: OpenLoop): Promise<RecordableHistogram> {
  const { ratePerSecond, seconds, connections } = load
  const commands = load.commands.map((command) => encodeCommand(command).toString('latin1'))
  const latencies = createHistogram()
  const links = await Promise.all(Array.from({ length: connections }, () => Link.open(load, latencies)))
  const total = Math.floor(ratePerSecond * seconds)
  const intervalMs = 1000 / ratePerSecond
  try {
    const startMs = performance.now()
    for (let sent = 0; sent < total; ) {
      const due = Math.min(total, Math.floor((performance.now() - startMs) / intervalMs) + 1)
      for (; sent < due; sent++) {
        links[sent % connections]!.ask(commands[sent % commands.length]!, startMs + sent * intervalMs)
      }
      for (const link of links) link.flush()
      await new Promise(setImmediate)
    }
    const giveUpMs = performance.now() + drainMs
    while (links.some((link) => link.waiting > 0)) {
      const failure = links.find((link) => link.failure !== undefined)?.failure
      if (failure !== undefined) throw new Error(`the server answered: ${failure}`)
      if (performance.now() > giveUpMs) throw new Error(`replies are missing after ${drainMs} ms`)
      await new Promise(setImmediate)
    }
    return latencies
  } finally {
    for (const link of links) link.close()
  }
}

/** One connection, and when each request on it was due. */
class Link {
  failure: string | undefined
  readonly #socket: Socket
  readonly #latencies: RecordableHistogram
  readonly #due: number[] = []
  readonly #refused: (() => void) | undefined
  #answered = 0
  #outgoing = ''
  #lineStart = true

  static open({ port, refused }: OpenLoop, latencies: RecordableHistogram): Promise<Link> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Link(socket, latencies, refused)))
    })
  }

  private constructor(socket: Socket, latencies: RecordableHistogram, refused?: () => void) {
    this.#socket = socket
    this.#latencies = latencies
    this.#refused = refused
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => {
      this.failure ??= error.message
    })
    socket.on('close', () => {
      this.failure ??= 'the connection ended'
    })
  }

  get waiting(): number {
    return this.#due.length - this.#answered
  }

  ask(command: string, dueMs: number): void {
    this.#outgoing += command
    this.#due.push(dueMs)
  }

  flush(): void {
    if (this.#outgoing === '') return
    this.#socket.write(this.#outgoing, 'latin1')
    this.#outgoing = ''
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const nowMs = performance.now()
    for (const byte of chunk) {
      if (this.#lineStart && byte === dash) {
        if (this.#refused) this.#refused()
        else this.failure ??= chunk.toString('latin1')
      }
      this.#lineStart = byte === newline
      if (byte !== newline) continue
      const lateMs = nowMs - this.#due[this.#answered++]!
      this.#latencies.record(Math.max(1, Math.round(lateMs * 1_000_000)))
    }
  }
}
