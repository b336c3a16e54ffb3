/** Clients that mean no harm: how long they wait, and whether each request is answered with the next id. */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Doors } from './victims.ts'

/** Waits of one sort of requests, in ms. */
export type Waits = {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/**
 * `resp`, `http`, and `door`, which is the attacked one of the others: on a connection that is open. `connect`: a new
 * connection of RESP, its login, and an id.
 */
export type Sort = 'resp' | 'http' | 'door' | 'connect'

/** What the clients have seen. */
export type Seen = { readonly waits: Readonly<Record<Sort, Waits>>; readonly errors: readonly string[] }

const everyMs: Readonly<Record<Sort, number>> = { resp: 2, http: 4, door: 4, connect: 20 }

/** One client of each sort; of `door`, if there is one. */
export class Others {
  readonly #doors: Doors
  readonly #waitsMs: Record<Sort, number[]> = { resp: [], http: [], door: [], connect: [] }
  readonly #errors: string[] = []
  readonly #running: Promise<unknown>
  #stopped = false

  constructor(doors: Doors) {
    this.#doors = doors
    this.#running = Promise.all([this.#resp(), this.#http(), this.#door(), this.#connect()])
  }

  /** Ends the clients. */
  async stop(): Promise<Seen> {
    this.#stopped = true
    await this.#running
    const { resp, http, door, connect } = this.#waitsMs
    return {
      waits: { resp: waitsOf(resp), http: waitsOf(http), door: waitsOf(door), connect: waitsOf(connect) },
      errors: this.#errors,
    }
  }

  async #resp(): Promise<void> {
    const client = await this.#doors.connect()
    await this.#each('resp', () => client.command('INCR', 'others-resp'))
    await client.close()
  }

  async #http(): Promise<void> {
    const agent = new Agent({ keepAlive: true })
    await this.#each('http', () => draw(this.#doors, agent))
    agent.destroy()
  }

  async #door(): Promise<void> {
    const client = await this.#doors.openDoor?.()
    if (client === undefined) return
    await this.#each('door', () => client.draw())
    await client.close()
  }

  #connect(): Promise<void> {
    return this.#each('connect', async () => {
      const client = await this.#doors.connect()
      const id = await client.command('INCR', 'others-connect')
      await client.close()
      return id
    })
  }

  async #each(sort: Sort, ask: () => Promise<unknown>): Promise<void> {
    let last = 0n
    while (!this.#stopped) {
      const startMs = performance.now()
      try {
        const id = BigInt(String(await ask()))
        this.#waitsMs[sort].push(performance.now() - startMs)
        if (id <= last) this.#errors.push(`${sort}: ${id} after ${last}`)
        last = id
      } catch (error) {
        this.#errors.push(`${sort}: ${String(error)}`)
      }
      await pause(everyMs[sort])
    }
  }
}

function draw({ http, headers }: Doors, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = '/v1/generators/others-http/next'
    const asked = request(
      { port: http, host: '127.0.0.1', path, method: 'POST', agent, headers },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        answer.on('end', () => {
          const [, id] = /"ids":\["(\d+)"\]/.exec(text) ?? []
          if (id === undefined) reject(new Error(`${answer.statusCode} ${text}`))
          else resolve(id)
        })
      },
    )
    asked.on('error', reject).end()
  })
}

function waitsOf(waitsMs: readonly number[]): Waits {
  const sorted = waitsMs.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: at(1) }
}
