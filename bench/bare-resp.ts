/**
 * A minimal RESP server on node:net: parse, look up, count, reply. It has no durability, no limits, no errors and no
 * other commands; it is the baseline for the cost of Fahao's features. `node bench/bare-resp.ts PORT`
 */
import { createServer, type Socket } from 'node:net'

const counters = new Map<string, { value: number }>()
const carriageReturn = 13

createServer({ noDelay: true }, serve).listen(Number(process.argv[2]), '127.0.0.1')

function serve(socket: Socket): void {
  let rest: Buffer | undefined
  socket.on('data', (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    const parser = new Parser(bytes)
    let replies = ''
    let done = 0
    while (parser.next()) {
      done = parser.at
      replies += reply(parser)
    }
    rest = done === bytes.length ? undefined : bytes.subarray(done)
    if (replies !== '') socket.write(replies, 'latin1')
  })
  socket.on('error', () => socket.destroy())
}

function reply(parser: Parser): string {
  if (parser.count !== 2 || parser.argument(0) !== 'INCR') return '*0\r\n'
  const key = parser.argument(1)
  let counter = counters.get(key)
  if (counter === undefined) {
    counter = { value: 0 }
    counters.set(key, counter)
  }
  return `:${++counter.value}\r\n`
}

/** One array of bulk strings after another, decoded in place. */
class Parser {
  at = 0
  count = 0
  readonly #bytes: Buffer
  readonly #starts: number[] = []
  readonly #ends: number[] = []

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Whether another whole command follows; if so, `at` moves past it. */
  next(): boolean {
    const count = this.#length()
    if (count < 0) return false
    for (let index = 0; index < count; index++) {
      const length = this.#length()
      if (length < 0 || this.at + length + 2 > this.#bytes.length) return false
      this.#starts[index] = this.at
      this.#ends[index] = this.at + length
      this.at += length + 2
    }
    this.count = count
    return true
  }

  argument(index: number): string {
    return this.#bytes.toString('latin1', this.#starts[index], this.#ends[index])
  }

  /** The number of a line such as `*2` or `$4`; −1 when the line is not whole. */
  #length(): number {
    const bytes = this.#bytes
    let value = 0
    for (let at = this.at + 1; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte !== carriageReturn) {
        value = value * 10 + byte - 48
        continue
      }
      if (at + 1 >= bytes.length) return -1
      this.at = at + 2
      return value
    }
    return -1
  }
}
