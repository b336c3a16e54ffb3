/**
 * The lines of a ledger in memory: which number is held, free, confirmed, void or unknown, and what a request makes of it. Pure: time
 * and secrets are given. A request changes lines here first; its outcome counts once `commit` has been written.
 *
 * Invariants
 *  1. Each number from the first one to the end has one line, or lies in one run. The end is the bound of the counter.
 *  2. A number that is free, or whose hold has ended, cannot be confirmed. It is reserved again under another secret, so a
 *     reservation names one turn of one number.
 *  3. A line that is confirmed changes to void alone; one that is void never changes, nor does any that is closed.
 *  4. While numbers are being closed, none of them is reserved, and no line of them changes but free ones to void.
 *  5. Every page that has a line which is not final, or a key that may be repeated, is in memory; so is every page that is dirty.
 */
import { assert } from '../../base/assert.ts'
import { FahaoError } from '../../base/errors.ts'
import type { RecordWrite, StoredRecord } from '../../engine/engine.ts'
import { exhausted } from '../issuer.ts'
import { LedgerPages } from './ledger-pages.ts'
import {
  type Close,
  closeKey,
  headKey,
  type LedgerHead,
  type LineRun,
  pageOf,
  writeClose,
  writeHead,
} from './ledger-records.ts'
import { type Change, isFinal, type Line, lapsed, stamp, stillHeld } from './line.ts'
import { OpenNumbers } from './open-numbers.ts'

/** A number that was reserved, and the secret by which it is confirmed. */
export type Reserved = { readonly number: bigint; readonly secret: string }

/** What a caller reserves numbers for. */
export type ReserveLines = {
  /** One for each number. A try that may have been carried out is repeated with the same ones while they hold. */
  readonly secrets: readonly string[]
  readonly holdMs: number
  readonly ref?: string | undefined
  readonly key?: string | undefined
}

/** A ledger as it was read: `bound` of its counter, and the pages from the head's open page on. */
export type LoadedLedger = {
  readonly name: string
  readonly prefix: string
  readonly max: bigint
  readonly head: LedgerHead
  readonly headVersion: bigint | undefined
  readonly pages: readonly StoredRecord[]
}

/** How long a key is remembered at least. */
export const keyRetentionMs = 86_400_000
const forgotten =
  'the store forgot: it was advanced, or numbers were issued without a ledger; whether it was used is not known'
/** How many runs a head has at most, and how many of them moves forward may make. */
const runsMax = 30
const movesMax = 20
/** The head is written when its open page is this far behind. */
const openPageLag = 8n
const sweepEvery = 64

/** The lines of one ledger. */
export class LedgerLines {
  readonly #of: LoadedLedger
  #head: LedgerHead
  #headVersion: bigint | undefined
  #isHeadDirty: boolean
  readonly #pages: LedgerPages
  #newClose: Close | undefined
  readonly #open = new OpenNumbers()
  readonly #keys = new Map<string, bigint[]>()
  #end: bigint
  #commits = 0
  /** The last number that is being closed. */
  closing: bigint | undefined

  /** @param before the lines before they were read again: their holds go on. Without it, each hold begins anew. */
  constructor(loaded: LoadedLedger, monoUs: number, before?: LedgerLines) {
    this.#of = loaded
    this.#pages = new LedgerPages(loaded.prefix)
    this.#head = loaded.head
    this.#headVersion = loaded.headVersion
    this.#isHeadDirty = loaded.headVersion === undefined
    const { first, runs, closed } = loaded.head
    this.#end = [first, (closed?.through ?? -1n) + 1n, (runs.at(-1)?.to ?? -1n) + 1n].reduce(later)
    for (const record of loaded.pages) this.addPage(record, monoUs, before)
    this.#open.lapse(monoUs)
  }

  /** The first number without a line. */
  get end(): bigint {
    return this.#end
  }

  /** What is kept beside the lines. */
  get head(): LedgerHead {
    return this.#head
  }

  /** Whether the line of a number can be looked at; if not, its page has to be read first. */
  has(number: bigint): boolean {
    return this.#pages.has(pageOf(number)) || !this.#isOnPage(number)
  }

  /** Adds a page that was read. */
  addPage(record: StoredRecord, monoUs = 0, before?: LedgerLines): void {
    for (const [number, line] of this.#pages.lines(this.#pages.add(record))) {
      if (number >= this.#end) this.#end = number + 1n
      this.#note(number, line, before?.deadlineOf(line.secret!) ?? monoUs + line.holdMs! * 1000)
    }
  }

  /** For how long a number is still held under this secret, in ms; undefined: it is not. */
  holdLeftMs(secret: string, monoUs: number): number | undefined {
    const isHeld = this.#open.numberOf(secret) !== undefined
    const leftUs = isHeld ? this.#open.deadlineOf(secret)! - monoUs : 0
    return leftUs > 0 ? Math.ceil(leftUs / 1000) : undefined
  }

  /** When a hold ends or has ended, on the clock of this process; undefined: none is known here. */
  deadlineOf(secret: string): number | undefined {
    return this.#open.deadlineOf(secret)
  }

  /** How many bytes a reservation of that many numbers adds to the commit at most. */
  bytesFor(count: number): number {
    return this.#pages.bytesFor(this.#open.free(count).map(pageOf), count)
  }

  /** Whether the next commit has room for that many bytes more. */
  hasRoom(bytes: number): boolean {
    return this.#pages.hasRoom(bytes)
  }

  /** Reserves numbers: those that are free first, lowest first. Throws EXHAUSTED, or ERR where the key has another count. */
  reserve({ secrets, holdMs, ref, key }: ReserveLines, change: Change): Reserved[] {
    this.#open.lapse(change.monoUs)
    const before = this.#open.heldAs(secrets)
    if (before.length === secrets.length) return before
    const known = key === undefined ? [] : this.#reservedFor(key)
    if (known.length > 0) {
      if (known.length === secrets.length) return known
      throw new FahaoError(
        'ERR',
        `this key holds or has confirmed ${known.length} numbers, not ${secrets.length}; ask for as many, or use another key`,
      )
    }
    this.#open.refuseMore(secrets.length)
    const again = this.#open.free(secrets.length, (this.closing ?? -1n) + 1n)
    const fresh = BigInt(secrets.length - again.length)
    if (this.#end + fresh - 1n > this.#of.max) throw exhausted(this.#of.name, this.#of.max)
    const numbers = [...again, ...Array.from({ length: Number(fresh) }, (_, at) => this.#end + BigInt(at))]
    const { monoUs, atMs, by } = change
    return numbers.map((number, at) => {
      const secret = secrets[at]!
      this.#set(number, { state: 'held', secret, holdMs, ref, key, atMs, by }, monoUs + holdMs * 1000)
      return { number, secret }
    })
  }

  /** Confirms a number: it is used. Throws LAPSED. */
  confirm(number: bigint, secret: string, change: Change): void {
    const line = this.#lineOf(number, secret)
    const isOwn = line.secret === secret
    if (isOwn && line.state === 'confirmed') return
    this.#open.lapse(change.monoUs)
    if (isOwn && line.state === 'held' && this.#open.numberOf(secret) === number) {
      this.#set(number, { ...line, ...stamp(change), state: 'confirmed', holdMs: undefined })
      return
    }
    // What the caller is told holds after a take-over too.
    if (isOwn && line.state === 'held') this.#setFree(number, line, change)
    throw lapsed(number, isOwn ? line : undefined)
  }

  /** Ends a hold: the number may be reserved again. Nothing to do where another turn of the number has begun. Throws ERR. */
  cancel(number: bigint, secret: string, change: Change): void {
    const line = this.#lineOf(number)
    if (line.secret !== secret) return
    if (line.state === 'confirmed')
      throw new FahaoError('ERR', `number ${number} is confirmed; if it is not used, void it with ID.VOID`)
    if (line.state === 'held') this.#setFree(number, line, change)
  }

  /** Ends a number: it is never used. `secret`: only if the number is that of this reservation. Throws ERR and LAPSED. */
  void(number: bigint, secret: string | undefined, why: string, change: Change): void {
    const line = this.#lineOf(number, secret)
    if (secret !== undefined && line.secret !== secret) throw lapsed(number, undefined)
    if (line.state === 'void') return
    const closed = this.#head.closed?.through ?? -1n
    if (number <= closed)
      throw new FahaoError(
        'ERR',
        `number ${number} is closed, up to ${closed}, and its line never changes; correct it by another document`,
      )
    if (number <= (this.closing ?? -1n))
      throw new FahaoError('CONFLICT', `number ${number} is being closed; look at the ledger again and retry`)
    this.#set(number, { ...line, ...stamp(change), state: 'void', holdMs: undefined, why })
  }

  /** Moves forward: the numbers up to `newest` are void. */
  skipTo(newest: bigint, why: string, change: Change): void {
    if (newest < this.#end) return
    if (this.#head.runs.length >= movesMax)
      throw new FahaoError('ERR', `'${this.#of.name}' was moved ${movesMax} times; use another generator`)
    this.#addRun({ from: this.#end, to: newest, state: 'void', why, ...stamp(change) })
  }

  /**
   * Notes that the store has lost what was written up to `bound`: what is not final may have been confirmed. Call it again, after a
   * commit, as long as `end` is below.
   */
  forget(bound: bigint, change: Change): void {
    for (const page of this.#pages.numbers)
      for (const [number, line] of this.#pages.lines(page)) {
        if (isFinal(line)) continue
        if (!this.hasRoom(this.#pages.bytesFor([page], 0))) return
        this.#set(number, { ...line, ...stamp(change), state: 'unknown', holdMs: undefined, why: forgotten })
      }
    if (this.#head.runs.length >= runsMax)
      throw new FahaoError(
        'ENGINE',
        `the ledger of '${this.#of.name}' is full of runs; use another generator`,
      )
    this.#addRun({ from: this.#end, to: bound - 1n, state: 'unknown', why: forgotten, ...stamp(change) })
  }

  /** Begins to close all numbers up to now. Undefined: all are closed already. Throws CONFLICT while one is held. */
  beginClose(change: Change): bigint | undefined {
    this.#open.lapse(change.monoUs)
    this.#refuseHeld(this.#end)
    const closed = this.#head.closed?.through ?? this.#head.first - 1n
    this.closing = this.#end - 1n > closed ? this.#end - 1n : undefined
    return this.closing
  }

  /** Makes free numbers that are being closed void. Call it again, after a commit, until it returns true. */
  voidFree(through: bigint, why: string, change: Change): boolean {
    this.#open.lapse(change.monoUs)
    this.#refuseHeld(through)
    for (;;) {
      const [number] = this.#open.free(1)
      if (number === undefined || number > through) return true
      if (!this.hasRoom(this.bytesFor(1))) return false
      this.#set(number, { ...this.#lineOf(number), ...stamp(change), state: 'void', holdMs: undefined, why })
    }
  }

  /** Closes what was being closed, unless an earlier try has. */
  close(close: Close): void {
    if (this.#head.closed?.through === close.through) return
    assert(close.through === this.closing, 'what is closed was being closed')
    this.#refuseHeld(close.through)
    this.#newClose = close
    this.#changeHead({ closed: close })
    this.closing = undefined
  }

  /** The lines of everything that is closed may be removed from the store. Returns the newest close. */
  removeClosed(): Close | undefined {
    const { closed, removed, runs } = this.#head
    if (closed !== undefined && removed?.through !== closed.through)
      this.#changeHead({ removed: closed, runs: runs.filter(({ to }) => to > closed.through) })
    return closed
  }

  /** The records to write; the counter's bound has to become `end` in the same step. */
  commit(): RecordWrite[] {
    const { prefix } = this.#of
    const close = this.#newClose
    return [
      ...this.#pages.writes(),
      ...(this.#isHeadDirty
        ? [{ key: headKey(prefix), value: writeHead(this.#head), expected: this.#headVersion }]
        : []),
      ...(close === undefined
        ? []
        : [{ key: closeKey(prefix, close.through), value: writeClose(close), expected: undefined }]),
    ]
  }

  /** The commit was carried out, and made these records. */
  committed(records: readonly StoredRecord[], nowMs: number): void {
    const written = records.find(({ key }) => key === headKey(this.#of.prefix))
    if (written !== undefined) this.#headVersion = written.version
    const touched = this.#pages.dirty
    this.#pages.written(records)
    this.#isHeadDirty = false
    this.#newClose = undefined
    const isSweep = ++this.#commits % sweepEvery === 0
    for (const index of isSweep ? this.#pages.numbers : touched) this.#dropIfSettled(index, nowMs)
    if (!isSweep) return
    const openPage = this.#pages.numbers.reduce((a, b) => (a < b ? a : b), pageOf(this.#end))
    if (openPage >= this.#head.openPage + openPageLag) this.#changeHead({ openPage })
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const lines = this.#pages.numbers.flatMap((page) => this.#pages.lines(page))
    assert(
      lines.every(([number]) => number < this.#end),
      'every line is below the end',
    )
    this.#open.assertInvariants(lines.filter(([, line]) => !isFinal(line)))
  }

  /** A hold that had ended begins anew where the write that freed its number has failed. */
  #refuseHeld(through: bigint): void {
    const held = this.#open.lowestHeld
    if (held !== undefined && held <= through) throw stillHeld(this.#open.held, held)
  }

  #isOnPage(number: bigint): boolean {
    if (number >= this.#end || number < this.#head.first) return false
    return this.#runOf(number) === undefined && number > (this.#head.removed?.through ?? -1n)
  }

  #runOf(number: bigint): LineRun | undefined {
    return this.#head.runs.find(({ from, to }) => from <= number && number <= to)
  }

  /** The line of a number whose page is in memory. Throws ERR for a number without one, and LAPSED for a reservation in a run. */
  #lineOf(number: bigint, secret?: string): Line {
    const { name } = this.#of
    if (number >= this.#end)
      throw new FahaoError('ERR', `'${name}' has not reserved ${number}; the ledger ends below ${this.#end}`)
    if (number < this.#head.first)
      throw new FahaoError('ERR', `the ledger of '${name}' begins at ${this.#head.first}`)
    if (number <= (this.#head.removed?.through ?? -1n))
      throw new FahaoError(
        'ERR',
        `number ${number} is closed, and its line was removed; see the export of it`,
      )
    const run = this.#runOf(number)
    if (run === undefined) return this.#pages.line(number)!
    if (secret !== undefined) throw lapsed(number, run)
    throw new FahaoError(
      'ERR',
      `the numbers ${run.from} to ${run.to} are one line, ${run.state}: ${run.why}; it does not change`,
    )
  }

  /** What a key has reserved and is held or confirmed. */
  #reservedFor(key: string): Reserved[] {
    return (this.#keys.get(key) ?? []).flatMap((number) => {
      const line = this.#pages.line(number)
      if (line?.key !== key) return []
      const holds = line.state === 'confirmed' || this.#open.numberOf(line.secret!) === number
      return holds ? [{ number, secret: line.secret! }] : []
    })
  }

  #setFree(number: bigint, line: Line, change: Change): void {
    this.#set(number, { ...line, ...stamp(change), state: 'free', holdMs: undefined })
  }

  #set(number: bigint, line: Line, deadlineUs = 0): void {
    const before = this.#pages.line(number)
    if (before !== undefined) this.#open.remove(number, before)
    if (number >= this.#end) this.#end = number + 1n
    this.#pages.set(number, line)
    this.#note(number, line, deadlineUs)
  }

  #note(number: bigint, line: Line, deadlineUs: number): void {
    this.#open.add(number, line, deadlineUs)
    const { key } = line
    if (key === undefined) return
    const numbers = this.#keys.get(key)
    if (numbers === undefined) this.#keys.set(key, [number])
    else if (!numbers.includes(number)) numbers.push(number)
  }

  #addRun(run: LineRun): void {
    this.#changeHead({ runs: [...this.#head.runs, run] })
    this.#end = run.to + 1n
  }

  #changeHead(changed: Partial<LedgerHead>): void {
    this.#head = { ...this.#head, ...changed }
    this.#isHeadDirty = true
  }

  /** Drops a page whose lines no request but a late one asks for. */
  #dropIfSettled(index: bigint, nowMs: number): void {
    if (index >= pageOf(this.#end) || !this.#pages.has(index)) return
    const lines = this.#pages.lines(index).map(([, line]) => line)
    const isSettled = (line: Line) =>
      isFinal(line) && (line.key === undefined || line.atMs + keyRetentionMs <= nowMs)
    if (!lines.every(isSettled)) return
    this.#pages.drop(index)
    for (const { key } of lines) if (key !== undefined) this.#keys.delete(key)
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
