/** A live stream as a client reads it. */
import assert from 'node:assert/strict'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { type HttpTraffic, noTraffic } from '../../../src/http/traffic.ts'

/**
 * The traffic of a node without any, and how often the node has looked at its figures: a look ends with the errors. It waits for its
 * turns, which are those of the process, so connections of other tests may go before it.
 */
export function countingLooks(): { readonly traffic: HttpTraffic; readonly looks: () => number } {
  let looks = 0
  const traffic = noTraffic()
  const { errors } = traffic.requests
  const get = () => {
    looks++
    return errors
  }
  Object.defineProperty(traffic.requests, 'errors', { get })
  return { traffic, looks: () => looks }
}

/** A line of a live stream. */
export type Line = {
  readonly type: 'history' | 'tick' | 'away'
  readonly node: string
  readonly reason?: string
  readonly issued: unknown
  readonly errors: Readonly<Record<string, unknown>>
  readonly events?: readonly { readonly state?: string }[]
  readonly cpuSeconds?: number | null
  readonly memoryBytes?: number | null
  readonly generators: Readonly<
    Record<string, { readonly issued: number; readonly bufferedSeconds: unknown }>
  >
}

/** An open stream: the lines that have come, and whether it has ended. */
export class Reading {
  readonly lines: Line[] = []
  readonly sent: ClientRequest
  readonly answer: IncomingMessage
  isOver = false
  #rest = ''

  constructor(sent: ClientRequest, answer: IncomingMessage) {
    this.sent = sent
    this.answer = answer
    answer.setEncoding('utf8')
    answer.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop()!
      this.lines.push(...lines.map((line) => JSON.parse(line)))
    })
    const over = () => {
      this.isOver = true
    }
    answer.on('end', over).on('error', over)
    sent.on('error', over)
  }

  /** Undefined before the first. */
  get newest(): Line {
    return this.lines.at(-1)!
  }

  /** The lines of a node, or about it. */
  of(node: string): Line[] {
    return this.lines.filter((line) => line.node === node)
  }

  close(): void {
    this.sent.destroy()
  }
}

/** Resolves once it holds: what is waited for comes from a socket. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    assert.ok(turn < 1_000_000, 'it never comes')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
