/**
 * One request to another node for its live stream.
 *
 * Invariants
 *  1. It ends when no answer has come for `answerMs`, or no line for `silentMs`, and then tells why, once.
 *  2. A line that is longer than `lineBytesMax` is not kept. What follows the head of a line is not read.
 */
import type { ClientRequest } from 'node:http'
import type { Clock, Timer } from '../../base/clock.ts'
import { turns } from '../../listening/turns.ts'

const [answerMs, silentMs] = [2000, 5000]
/** Several times what the history of all generators that are told of can have. */
const lineBytesMax = 4 * 2 ** 20
const newline = 10
/** It begins the last member of each line. In a string these quotes would be escaped. */
const lastMember = '"generators":{'

/** Takes a line with its end. */
export type OnLine = (type: 'history' | 'tick', bytes: Buffer) => void
/** `isRefused`: the peer has answered that it does not do it. */
export type OnEnd = (reason: string, isRefused: boolean) => void

/** What a peer answers that gives no stream, by status. */
const refusals: Readonly<Record<number, string>> = {
  401: 'it answers 401, as an earlier version does',
  429: 'it has no room for more streams',
}

/** The request, from when it was sent. */
export class PeerRequest {
  readonly #sent: ClientRequest
  readonly #node: string
  readonly #clock: Clock
  readonly #onLine: OnLine
  readonly #onEnd: OnEnd
  #isOver = false
  #deadline: Timer | undefined
  /** The beginning of a line. */
  #parts: Buffer[] = []
  #length = 0

  constructor(sent: ClientRequest, node: string, clock: Clock, onLine: OnLine, onEnd: OnEnd) {
    this.#sent = sent
    this.#node = node
    this.#clock = clock
    this.#onLine = onLine
    this.#onEnd = onEnd
    this.#wait(answerMs, 'answered')
    sent.on('error', (error: NodeJS.ErrnoException) =>
      this.end(`it cannot be reached (${error.code ?? error.message})`),
    )
    sent.on('response', (head) => {
      const { statusCode = 0 } = head
      if (statusCode !== 200) return this.end(refusals[statusCode] ?? `it answers ${statusCode}`, true)
      this.#wait(silentMs, 'sent a line')
      head.on('data', (chunk: Buffer) => this.#receive(chunk))
      for (const event of ['end', 'error']) head.on(event, () => this.end('its stream has ended'))
    })
    sent.end()
  }

  /** Ends it; `reason` is told once. */
  end(reason: string, isRefused = false): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline?.cancel()
    this.#sent.destroy()
    this.#onEnd(reason, isRefused)
  }

  #wait(ms: number, forWhat: string): void {
    this.#deadline?.cancel()
    this.#deadline = this.#clock.timer(ms, () => this.end(`it has not ${forWhat} for ${ms / 1000} s`))
  }

  #receive(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0 && !this.#isOver; at = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, at + 1))
      from = at + 1
      const line = Buffer.concat(this.#parts)
      this.#parts = []
      this.#length = 0
      if (!this.#isOver) this.#take(line)
    }
    if (from < chunk.length && !this.#isOver) this.#add(chunk.subarray(from))
  }

  #add(part: Buffer): void {
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length > lineBytesMax) this.end(`it has sent a line of more than ${lineBytesMax} bytes`)
  }

  #take(line: Buffer): void {
    this.#wait(silentMs, 'sent a line')
    turns.spend(line.length)
    const type = typeOf(line, this.#node)
    if (type === undefined) this.end('it has sent what is no line of its live stream')
    else this.#onLine(type, line)
  }
}

/** The type of a line of this node by its head; undefined: it is none. The generators, most of it, are not read. */
function typeOf(line: Buffer, node: string): 'history' | 'tick' | undefined {
  const end = line.indexOf(lastMember)
  if (end < 0 || line.toString('latin1', line.length - 3) !== '}}\n') return undefined
  try {
    const read = JSON.parse(`${line.toString('utf8', 0, end)}${lastMember}}}`)
    return read.node === node && ['history', 'tick'].includes(read.type) ? read.type : undefined
  } catch {
    return undefined
  }
}
