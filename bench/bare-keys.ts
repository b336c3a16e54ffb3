/**
 * A minimal RESP server for many keys, on node:net: the bytes of a key are hashed where they arrived, and found by open
 * addressing in typed arrays; digits are written straight into the output. It has no durability, no keyed hash, no limits
 * and no errors; it is the baseline for many keys, as bare-resp.ts is for one. `node bench/bare-keys.ts PORT`
 */
import { createServer, type Socket } from 'node:net'

const slots = 2 ** 22
const mask = slots - 1
/** The row of a slot, plus 1; 0: the slot is free. */
const rowOfSlot = new Int32Array(slots)
const rowsMax = 2 ** 21
const hashes = new Int32Array(rowsMax)
const nameStarts = new Int32Array(rowsMax)
const nameLengths = new Uint8Array(rowsMax)
const next = new Float64Array(rowsMax)
const bounds = new Float64Array(rowsMax).fill(2 ** 53)
const names = Buffer.allocUnsafe(rowsMax * 64)
let rows = 0
let namesEnd = 0

let output = Buffer.allocUnsafeSlow(2 ** 18)
let outputEnd = 0
/** Where the parser is; a whole request moves it. */
let at = 0
const carriageReturn = 13

createServer({ noDelay: true }, serve).listen(Number(process.argv[2]), '127.0.0.1')

function serve(socket: Socket): void {
  let rest: Buffer | undefined
  socket.on('data', (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    at = 0
    let done = 0
    while (answer(bytes)) {
      done = at
      if (outputEnd + 64 > output.length) send(socket)
    }
    rest = done === bytes.length ? undefined : bytes.subarray(done)
    send(socket)
  })
  socket.on('error', () => socket.destroy())
}

function send(socket: Socket): void {
  if (outputEnd === 0) return
  socket.write(output.subarray(0, outputEnd))
  // What the kernel did not take at once is still in use.
  if (socket.writableLength > 0) output = Buffer.allocUnsafeSlow(2 ** 18)
  outputEnd = 0
}

/** Answers the request at `at`, if it is whole, and moves past it. */
function answer(bytes: Buffer): boolean {
  const count = length(bytes)
  if (count < 0) return false
  const commandLength = length(bytes)
  const command = at
  at += commandLength + 2
  const keyLength = count > 1 ? length(bytes) : 0
  const key = at
  if (count > 1) at += keyLength + 2
  const amountLength = count > 2 ? length(bytes) : 0
  const amount = at
  if (count > 2) at += amountLength + 2
  if (commandLength < 0 || keyLength < 0 || amountLength < 0 || at > bytes.length) return false
  // The first letter tells INCR and INCRBY from GET; whatever else a load generator asks has an empty answer.
  const letter = bytes[command]
  if (letter === 73)
    write(58, take(rowOf(bytes, key, keyLength), count > 2 ? number(bytes, amount, amountLength) : 1))
  else if (letter === 71) {
    const value = next[rowOf(bytes, key, keyLength)]!
    write(36, value < 10 ? 1 : Math.floor(Math.log10(value)) + 1)
    digits(value)
    end()
  } else outputEnd += output.write('*0\r\n', outputEnd, 'latin1')
  return true
}

function take(row: number, amount: number): number {
  const taken = next[row]! + amount
  if (taken > bounds[row]!) return 0
  next[row] = taken
  return taken
}

function rowOf(bytes: Buffer, start: number, length: number): number {
  let hash = length
  for (let index = start; index < start + length; index++) hash = Math.imul(hash ^ bytes[index]!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash ^= hash >>> 13
  for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
    const row = rowOfSlot[slot]! - 1
    if (row < 0) return add(bytes, start, length, hash, slot)
    if (hashes[row] === hash && nameLengths[row] === length && equal(bytes, start, nameStarts[row]!, length))
      return row
  }
}

function equal(bytes: Buffer, start: number, name: number, length: number): boolean {
  for (let index = 0; index < length; index++) if (bytes[start + index] !== names[name + index]) return false
  return true
}

function add(bytes: Buffer, start: number, length: number, hash: number, slot: number): number {
  const row = rows++
  bytes.copy(names, namesEnd, start, start + length)
  hashes[row] = hash
  nameStarts[row] = namesEnd
  nameLengths[row] = length
  namesEnd += length
  rowOfSlot[slot] = row + 1
  return row
}

function write(type: number, value: number): void {
  output[outputEnd++] = type
  digits(value)
  end()
}

function digits(value: number): void {
  let size = 1
  for (let power = 10; power <= value; power *= 10) size++
  let left = value
  for (let index = outputEnd + size - 1; index >= outputEnd; index--) {
    const shorter = left < 2 ** 31 ? ((left | 0) / 10) | 0 : Math.floor(left / 10)
    output[index] = 48 + left - shorter * 10
    left = shorter
  }
  outputEnd += size
}

function end(): void {
  output[outputEnd++] = carriageReturn
  output[outputEnd++] = 10
}

function number(bytes: Buffer, start: number, length: number): number {
  let value = 0
  for (let index = start; index < start + length; index++) value = value * 10 + bytes[index]! - 48
  return value
}

/** The number of a line such as `*2` or `$4`; −1 when the line is not whole. */
function length(bytes: Buffer): number {
  let value = 0
  for (let index = at + 1; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (byte === carriageReturn) {
      at = index + 2
      return at <= bytes.length ? value : -1
    }
    value = value * 10 + byte - 48
  }
  return -1
}
