/**
 * The bytes of names: each begins in its row of buffers/fast-runs.ts, and the rest of a long one is in blocks of one
 * size, so the block of a name that leaves serves any other name.
 */
import { restAt } from '../base/keyed-hash.ts'
import { type FastRuns, rowName, rowOwn, rowWords } from '../buffers/fast-runs.ts'
import { nameBytesMax } from './name-rules.ts'

/** Where in an entry the number of the bytes of the name lies, and above it the bits of `contiguousBit` and the next ones. */
export const entryLength = rowName
/** Where a transport notes whose permissions reach the name. */
export const entryReached = rowName + 1
/** Where a transport notes which quotas count the name. */
export const entryMetered = rowName + 2
/** Where the name begins; in that of a long name the number of a block lies behind the first bytes. */
const nameAt = rowName + 3
const lengthMask = 0xffff

/** Set if the ids increase by 1 and are issued in counting order. */
export const contiguousBit = 1 << 16
/** Set if the ids have a format. */
export const formatBit = 1 << 17
/** Set if the generator is at rest. */
export const restingBit = 1 << 18
/** Set if the owner of the row keeps something behind the name. */
const keptBit = 1 << 19

/** How many bytes an entry has room for: up to its end, or up to what its owner keeps. */
const roomWhole = 4 * (rowWords - nameAt)
const roomKept = 4 * (rowOwn - nameAt)
/** How many words a block has: a line of a processor's cache. The first one is the number of the next block of the name, or of the next free one. */
const blockWords = 16

const encoder = new TextEncoder()
// A name may begin with U+FEFF.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const scratch = new Uint8Array(nameBytesMax)
/** One name, written and read within one call: that of a caller that has a string, or that of an entry. */
export const nameView = new DataView(scratch.buffer)

/** The names of the rows of one table. */
export class NameBytes {
  readonly #runs: FastRuns
  /** The rest of long names. Block 0 is none. */
  #blocks = new Int32Array(64 * blockWords)
  #blockCount = 1
  #freeBlock = 0

  constructor(runs: FastRuns) {
    this.#runs = runs
  }

  /** The name of an entry. */
  nameOf(entry: number): string {
    return decoder.decode(scratch.subarray(0, this.read(entry)))
  }

  /** Copies the name of an entry to `nameView`; returns how many bytes it has. */
  read(entry: number): number {
    const { words } = this.#runs
    const at = entry * rowWords
    const length = words[at + entryLength]! & lengthMask
    const here = bytesHere(words[at + entryLength]!)
    let to = 0
    for (let word = at + nameAt; to < here; to += 4) nameView.setInt32(to, words[word++]!, true)
    let block = length > here ? words[at + nameAt + here / 4]! * blockWords : 0
    for (let index = 1; to < length; to += 4) {
      if (index === blockWords) {
        block = this.#blocks[block]! * blockWords
        index = 1
      }
      nameView.setInt32(to, this.#blocks[block + index++]!, true)
    }
    return length
  }

  /** Whether an entry has the name of `length` bytes of `view` from `start` on. */
  isNamed(entry: number, view: DataView, start: number, length: number): boolean {
    const { words } = this.#runs
    const at = entry * rowWords
    const known = words[at + entryLength]!
    if ((known & lengthMask) !== length) return false
    const end = start + length
    const here = start + bytesHere(known)
    let word = at + nameAt
    let from = start
    for (; from < here; from += 4) {
      const left = end - from
      if (words[word++] !== (left >= 4 ? view.getInt32(from, true) : restAt(view, from, left))) return false
    }
    return from >= end || this.#endsIn(words[word]!, view, from, end)
  }

  /** Whether the rest of a name is in a block, and in those after it. */
  #endsIn(first: number, view: DataView, start: number, end: number): boolean {
    const blocks = this.#blocks
    let block = first * blockWords
    let at = block + 1
    for (let from = start; from < end; from += 4) {
      if (at === block + blockWords) {
        block = blocks[block]! * blockWords
        at = block + 1
      }
      const left = end - from
      if (blocks[at++] !== (left >= 4 ? view.getInt32(from, true) : restAt(view, from, left))) return false
    }
    return true
  }

  /** Notes what is known of the ids of an entry, by the bits beside the length. */
  note(entry: number, bits: number): void {
    const { words } = this.#runs
    words[entry * rowWords + entryLength] =
      (words[entry * rowWords + entryLength]! & (lengthMask | keptBit)) | bits
  }

  /** Writes the name in `nameView` into an entry. */
  write(entry: number, length: number): void {
    const { words } = this.#runs
    const at = entry * rowWords + nameAt
    const known = length | (this.#runs.isKept(entry) ? keptBit : 0)
    words[entry * rowWords + entryLength] = known
    const here = bytesHere(known)
    for (let from = 0; from < here; from += 4) words[at + from / 4] = scratchWord(from, length)
    if (length === here) return
    let block = this.#newBlock()
    words[at + here / 4] = block
    let index = 1
    for (let from = here; from < length; from += 4) {
      if (index === blockWords) {
        const next = this.#newBlock()
        this.#blocks[block * blockWords] = next
        block = next
        index = 1
      }
      this.#blocks[block * blockWords + index++] = scratchWord(from, length)
    }
    this.#blocks[block * blockWords] = 0
  }

  #newBlock(): number {
    const free = this.#freeBlock
    if (free !== 0) {
      this.#freeBlock = this.#blocks[free * blockWords]!
      return free
    }
    if (this.#blockCount * blockWords === this.#blocks.length) {
      const larger = new Int32Array(this.#blocks.length * 2)
      larger.set(this.#blocks)
      this.#blocks = larger
    }
    return this.#blockCount++
  }

  /** Ends what an entry has of its name, and what was noted of it. */
  clear(entry: number): void {
    const { words } = this.#runs
    const at = entry * rowWords
    const length = words[at + entryLength]! & lengthMask
    const here = bytesHere(words[at + entryLength]!)
    words.fill(0, at + entryLength, at + nameAt)
    for (let block = length > here ? words[at + nameAt + here / 4]! : 0; block !== 0; ) {
      const next = this.#blocks[block * blockWords]!
      this.#blocks[block * blockWords] = this.#freeBlock
      this.#freeBlock = block
      block = next
    }
  }
}

/** Writes a name into `nameView`; returns how many bytes it has, 0 if no generator can have it. */
export function putName(name: string): number {
  const { length } = name
  if (length > nameBytesMax) return 0
  for (let index = 0; index < length; index++) {
    const unit = name.charCodeAt(index)
    if (unit >= 0x80) return writeUnicode(name)
    scratch[index] = unit
  }
  return length
}

/** How many bytes of a name are in its entry: all, or all but the last word of the room, which tells a block. */
function bytesHere(known: number): number {
  const length = known & lengthMask
  const room = (known & keptBit) === 0 ? roomWhole : roomKept
  return length > room ? room - 4 : length
}

/** The word of the name in `nameView` that begins at this byte. */
function scratchWord(from: number, length: number): number {
  const left = length - from
  return left >= 4 ? nameView.getInt32(from, true) : restAt(nameView, from, left)
}

function writeUnicode(name: string): number {
  const { read, written } = encoder.encodeInto(name, scratch)
  // A lone surrogate is written as U+FFFD, which another name has.
  return read === name.length && name.isWellFormed() ? written : 0
}
