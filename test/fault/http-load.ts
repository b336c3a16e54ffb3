/** Clients that pull ids over HTTP through a load balancer, each on a connection of its own, and note what they were told. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { Journal } from './journal.ts'
import { nowUs } from './load.ts'

/** What one client asks for, again and again. */
export type HttpAsk = { readonly generator: string; readonly count: number }

/** The header in which the load balancer says which node answered. */
export const upstreamHeader = 'x-upstream'

const nodesMax = 1000

/** A crowd of clients of one address, through everything that happens behind it. */
export class HttpLoad {
  readonly journals = new Map<string, Journal>()
  /** Answers that were no ids, and broken connections, by what they said. */
  readonly failures = new Map<string, number>()
  /** Nodes that answered. */
  readonly nodes = new Map<string, number>()
  #clients = 0
  #running: Promise<void>[] = []
  #stopped = false

  /** Ends with `lifetime` if not before. */
  constructor(lifetime: Lifetime) {
    atEnd(lifetime, () => this.stop())
  }

  journal(generator: string): Journal {
    const journal = this.journals.get(generator) ?? new Journal()
    this.journals.set(generator, journal)
    return journal
  }

  get count(): number {
    return [...this.journals.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** Starts `clients` clients of a loopback port, which ask for these in turn, and pause for `restMs` after each answer. */
  start(port: number, asks: readonly HttpAsk[], clients: number, restMs = 0): void {
    this.#stopped = false
    this.#running = Array.from({ length: clients }, (_, index) =>
      this.#pull(port, asks[index % asks.length]!, restMs),
    )
  }

  /** Stops after the answers under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async #pull(port: number, { generator, count }: HttpAsk, restMs: number): Promise<void> {
    const client = ++this.#clients
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const journal = this.journal(generator)
    const path = `/v1/generators/${encodeURIComponent(generator)}/next?count=${count}`
    while (!this.#stopped) {
      const sentUs = nowUs()
      try {
        const { status, body, node } = await postAgain(agent, port, path)
        if (status !== 200) throw new Error(`${status} ${body.slice(0, 300)}`)
        const ids = JSON.parse(body).ids.map(BigInt) as bigint[]
        // Order is kept on each node: what one client got from one node counts as one connection.
        const connection = client * nodesMax + this.#numberOf(node)
        journal.add({ ids, sentUs, receivedUs: nowUs(), connection })
        if (restMs > 0) await pause(restMs)
      } catch (error) {
        const text = (error as Error).message
        this.failures.set(text, (this.failures.get(text) ?? 0) + 1)
        await pause(10)
      }
    }
    agent.destroy()
  }

  #numberOf(node: string): number {
    const known = this.nodes.get(node)
    if (known !== undefined) return known
    this.nodes.set(node, this.nodes.size)
    return this.nodes.size - 1
  }
}

type Answer = { readonly status: number; readonly body: string; readonly node: string }

/** A kept connection that the other side closed while it was idle, or just then: the request was not answered. */
class StaleConnection extends Error {}

/**
 * As careful clients do: a request that met the end of a kept connection goes out once more, on a new one. Ids that
 * the first may have been given are a gap.
 */
async function postAgain(agent: Agent, port: number, path: string): Promise<Answer> {
  try {
    return await post(agent, port, path)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error
    return await post(agent, port, path)
  }
}

function post(agent: Agent, port: number, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let answered = false
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST' }, (answer) => {
      answered = true
      readAll(answer).then(
        (body) =>
          resolve({
            status: answer.statusCode ?? 0,
            body,
            node: String(answer.headers[upstreamHeader] ?? ''),
          }),
        reject,
      )
    })
    sent.once('error', (error: NodeJS.ErrnoException) => {
      const cut = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      reject(cut && sent.reusedSocket && !answered ? new StaleConnection(error.message) : error)
    })
    sent.end()
  })
}

function readAll(answer: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = ''
    answer.setEncoding('utf8')
    answer.on('data', (chunk: string) => {
      body += chunk
    })
    answer.once('end', () => resolve(body))
    answer.once('error', reject)
    answer.once('aborted', () => reject(new Error('the connection broke')))
  })
}
