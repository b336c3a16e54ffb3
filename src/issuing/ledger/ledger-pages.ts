/**
 * The pages of a ledger that are in memory, and which of them a commit has to write.
 *
 * Invariants
 *  1. A page has the texts of its lines; of a page that is not dirty, they are those of the store's record with its version.
 *  2. A dirty page stays in memory.
 */
import { commitBytesMax, commitMax, type RecordWrite, type StoredRecord } from '../../engine/engine.ts'
import {
  firstOfPage,
  pageKey,
  pageOf,
  pageOfKey,
  pageSize,
  pagesPrefix,
  readPage,
  writePage,
} from './ledger-records.ts'
import { type Line, lineBytesMax, writeLine } from './line.ts'

type Page = {
  readonly lines: (Line | undefined)[]
  readonly texts: (string | undefined)[]
  bytes: number
  version: bigint | undefined
}

/** What the head and a close may take in a commit. */
const headBytesMax = 24_576
const pagesBytesMax = commitBytesMax - headBytesMax
/** What a page counts at least, so that a commit has no more records than an engine takes. */
const pageBytesMin = Math.ceil(pagesBytesMax / (commitMax - 4))

/** Pages by their numbers. */
export class LedgerPages {
  readonly #prefix: string
  readonly #pages = new Map<bigint, Page>()
  readonly #dirty = new Set<bigint>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** The pages in memory. */
  get numbers(): bigint[] {
    return [...this.#pages.keys()]
  }

  /** The pages that the next commit writes. */
  get dirty(): bigint[] {
    return [...this.#dirty]
  }

  has(page: bigint): boolean {
    return this.#pages.has(page)
  }

  /** The line of a number; undefined: it has none, or its page is not in memory. */
  line(number: bigint): Line | undefined {
    return this.#pages.get(pageOf(number))?.lines[indexOf(number)]
  }

  /** The lines of a page in memory, by their numbers. */
  lines(page: bigint): (readonly [bigint, Line])[] {
    return this.#pages
      .get(page)!
      .lines.flatMap((line, at) =>
        line === undefined ? [] : [[firstOfPage(page) + BigInt(at), line] as const],
      )
  }

  /** Adds a page that was read. Returns its number. */
  add(record: StoredRecord): bigint {
    const page = pageOfKey(this.#prefix, record.key)
    const lines = readPage(record)
    const texts = lines.map((line) => line && writeLine(line))
    this.#pages.set(page, { lines, texts, bytes: Buffer.byteLength(record.value), version: record.version })
    return page
  }

  /** Gives a number this line. */
  set(number: bigint, line: Line): void {
    const index = pageOf(number)
    const page = this.#pages.get(index) ?? { lines: [], texts: [], bytes: 0, version: undefined }
    this.#pages.set(index, page)
    const at = indexOf(number)
    const text = writeLine(line)
    page.bytes += Buffer.byteLength(text) - Buffer.byteLength(page.texts[at] ?? '') + 1
    page.lines[at] = line
    page.texts[at] = text
    this.#dirty.add(index)
  }

  /** Drops a page that is not dirty. */
  drop(page: bigint): void {
    if (!this.#dirty.has(page)) this.#pages.delete(page)
  }

  /** How many bytes a change of lines of these pages, and `fresh` new lines, add to the commit at most. */
  bytesFor(pages: Iterable<bigint>, fresh: number): number {
    let bytes = (fresh + 2 * pageSize) * lineBytesMax
    for (const page of new Set(pages)) if (!this.#dirty.has(page)) bytes += this.#bytesOf(page)
    return bytes
  }

  /** Whether the next commit has room for that many bytes more. */
  hasRoom(bytes: number): boolean {
    return this.dirty.reduce((sum, page) => sum + this.#bytesOf(page), bytes) <= pagesBytesMax
  }

  /** The dirty pages, to be written. */
  writes(): RecordWrite[] {
    return this.dirty.map((index) => {
      const { texts, version } = this.#pages.get(index)!
      return { key: pageKey(this.#prefix, index), value: writePage(texts), expected: version }
    })
  }

  /** They were written, as these records among others. */
  written(records: readonly StoredRecord[]): void {
    for (const { key, version } of records)
      if (key.startsWith(pagesPrefix(this.#prefix)))
        this.#pages.get(pageOfKey(this.#prefix, key))!.version = version
    this.#dirty.clear()
  }

  #bytesOf(page: bigint): number {
    return Math.max(this.#pages.get(page)!.bytes, pageBytesMin)
  }
}

function indexOf(number: bigint): number {
  return Number(number % BigInt(pageSize))
}
