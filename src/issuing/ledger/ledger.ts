/**
 * Serves the ledger of one generator on the node that may issue its numbers: all requests that wait share one commit.
 *
 * Invariants
 *  1. A request is answered after the commit of a batch that it was part of. Each commit names the counter's version, fence and
 *     incarnation, so that one of a former leader changes nothing, and an answer holds for every later leader.
 *  2. After a commit whose outcome is not known, or that failed, the lines are read again before anything is answered. The requests
 *     of its batch are asked once more: they find what they have changed (P8).
 *  3. The counter is sealed before lines are read, so that no earlier commit changes them afterwards.
 *  4. One batch, read or write is under way at a time.
 *  5. What a commit has made that was sent before a copy of this memory was noticed is not answered.
 */
import { atEndOfCallback, secretBytes } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { emptyRow } from '../../buffers/fast-runs.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Run } from '../../ids/run.ts'
import type { Gate, Gated } from '../gate.ts'
import type { Incarnation } from '../incarnation.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from '../issuer.ts'
import { Refills } from '../refills.ts'
import type { ReservedCounterOptions } from '../reserved-counter.ts'
import type { ReservoirOptions } from '../reservoir-options.ts'
import { LedgerLines, type Reserved } from './ledger-lines.ts'
import {
  type AskedLines,
  type ChangeLines,
  LedgerQueue,
  type LedgerRequest,
  late,
  type ReserveNumbers,
} from './ledger-queue.ts'
import { chainOf, type LedgerPart, pagesFrom, readPart, removeLines } from './ledger-reading.ts'
import { type Close, headKey, ledgerPrefix, pageKey, pageOf, readHead } from './ledger-records.ts'
import { type Change, shortUser } from './line.ts'

/** What ledgers with one definition share. */
export type LedgerOptions = ReservoirOptions &
  Pick<ReservedCounterOptions, 'mayReserve'> & {
    readonly engine: Engine
    readonly max: bigint
    /** How long a number is held where the request does not say, in ms. */
    readonly holdMs: number
  }

const pagesAtOnce = 100
/** How often a batch is asked again at once because another write came first. */
const triesMax = 5
const notUsed = 'not used when its period was closed'

/** The ledger of one generator. */
export class Ledger implements Issuer, Gated {
  readonly row = emptyRow
  readonly #incarnation: Incarnation
  readonly #options: LedgerOptions
  readonly #prefix: string
  readonly #gate: Gate
  readonly #refills: Refills
  readonly #queue: LedgerQueue
  /** Undefined: they have to be read. */
  #lines: LedgerLines | undefined
  /** The lines before they were read again. */
  #before: LedgerLines | undefined
  #version = 0n
  #bound = 0n
  #isClosing = false
  /** The last number that is being closed. */
  #closing: bigint | undefined
  #issued = 0
  /** At the end of this callback: all requests of one callback share one commit. */
  readonly #startSoon = atEndOfCallback(() => this.#start())
  #closed: Error | undefined

  constructor(incarnation: Incarnation, options: LedgerOptions, gate: Gate) {
    this.#incarnation = incarnation
    this.#options = options
    this.#prefix = ledgerPrefix(incarnation.name)
    this.#gate = gate
    this.#refills = new Refills(incarnation.name, options, {
      reserve: () => this.#turn(),
      ended: () => this.#continue(),
      paused: () => this.#start(),
    })
    this.#queue = new LedgerQueue(options, (isSent) => this.#late(isSent))
  }

  get isOver(): boolean {
    return this.#gate.ended !== undefined
  }

  /** Always 0: numbers are reserved. */
  take(): number {
    return 0
  }

  /** Always −1: numbers are reserved. */
  takeNumber(): number {
    return -1
  }

  draw(_count: number, _options?: DrawOptions): Promise<Run[]> {
    const { name } = this.#incarnation
    return Promise.reject(
      new FahaoError(
        'WRONGTYPE',
        `'${name}' keeps a ledger, whose numbers are reserved and then confirmed; use ID.RESERVE ${name}`,
      ),
    )
  }

  nextIsSafe(): boolean {
    return true
  }

  /** The newest number that was reserved, as far as this process has seen. */
  lastIssued(): bigint | undefined {
    return this.#bound > this.#incarnation.floor ? this.#bound - 1n : undefined
  }

  stats(): IssuerStats {
    return {
      ...idleStats,
      ...this.#refills.stats(),
      issued: this.#issued,
      reserved: this.#issued,
      waits: this.#queue.joined,
      waiting: this.#queue.length,
    }
  }

  assertInvariants(): void {
    this.#lines?.assertInvariants()
  }

  /** Reserves numbers for a caller that confirms each once it is used. Rejects with EXHAUSTED, ERR, DRY, BUSY, UNKNOWN. */
  async reserve(request: ReserveNumbers): Promise<Reserved[]> {
    const { count, by, holdMs = this.#options.holdMs, ref, key, signal, onWait } = request
    let secrets = freshSecrets(count)
    const reserved = await this.#ask<Reserved[]>(
      { by, signal, onWait, bytes: (lines) => lines.bytesFor(count) },
      (lines, change) => {
        // Those of a try that has made holds which have ended stay with these lines.
        if (lines.holdLeftMs(secrets[0]!, change.monoUs) === undefined) secrets = freshSecrets(count)
        return lines.reserve({ secrets, holdMs, ref, key }, change)
      },
    )
    this.#issued += count
    return reserved
  }

  /** Confirms a reservation. Rejects with LAPSED. */
  confirm({ number, secret }: Reserved, by: string): Promise<void> {
    return this.#ask({ number, by }, (lines, change) => lines.confirm(number, secret, change))
  }

  /** Ends a reservation; its number may be reserved again. */
  cancel({ number, secret }: Reserved, by: string): Promise<void> {
    return this.#ask({ number, by }, (lines, change) => lines.cancel(number, secret, change))
  }

  /** Makes a number void, if it is that of the reservation where `secret` is given. */
  void(number: bigint, secret: string | undefined, why: string, by: string): Promise<void> {
    return this.#ask({ number, by }, (lines, change) => lines.void(number, secret, why, change))
  }

  /** The numbers up to `newest` are void: none of them is reserved any more. */
  moveTo(newest: bigint): Promise<void> {
    const why = `not used: moved forward to ${newest + 1n}`
    return this.#ask({ by: '' }, (lines, change) => lines.skipTo(newest, why, change))
  }

  /** Lines from a number on, and what is kept beside them. */
  async read(from: bigint, count: number): Promise<LedgerPart> {
    // Only lines in memory tell which holds have ended.
    if ((this.#lines ?? this.#before) === undefined) await this.#ask({ by: '' }, () => {})
    return readPart(this.#options.engine, this.#prefix, from, count)
  }

  /** For how long a number is held still, in ms; undefined: its hold has ended. */
  holdLeftMs(secret: string): number | undefined {
    return (this.#lines ?? this.#before)?.holdLeftMs(secret, this.#options.clock.monoUs())
  }

  /**
   * Closes all numbers up to now. Resolves to the newest close, also if there is nothing to close, or undefined if nothing was ever
   * closed. Rejects with CONFLICT while a number is held, or while another close runs.
   */
  async closePeriod(by: string): Promise<Close | undefined> {
    if (this.#isClosing)
      throw new FahaoError('CONFLICT', 'the ledger is being closed by another request; retry')
    this.#isClosing = true
    try {
      const through = await this.#ask({ by }, (lines, change) => {
        this.#closing = lines.beginClose(change)
        return this.#closing
      })
      if (through === undefined) return this.#lines?.head.closed
      const voidFree: ChangeLines<boolean> = (lines, change) => lines.voidFree(through, notUsed, change)
      while (!(await this.#ask({ by }, voidFree)));
      const { atMs } = this.#now(by)
      const close = {
        ...(await chainOf(this.#options.engine, this.#prefix, through)),
        atMs,
        by: shortUser(by),
      }
      await this.#ask({ by }, (lines) => lines.close(close))
      return close
    } finally {
      this.#isClosing = false
      this.#closing = undefined
    }
  }

  /** Removes the lines of all that is closed from the store. Resolves to the newest close. */
  async removeClosed(by: string): Promise<Close | undefined> {
    const closed = await this.#ask({ by }, (lines) => lines.removeClosed())
    await removeLines(this.#options.engine, this.#prefix)
    return closed
  }

  /** See `Gated`. */
  resume(): void {
    this.#start()
  }

  /** See `Gated`. What is part of a commit under way is answered by its outcome. */
  stop(reason: Error): void {
    this.#closed ??= reason
    this.#refills.stop(reason)
    this.#queue.refuse(reason, ({ isSent }) => !isSent)
    if (this.#queue.length === 0) this.#gate.noteIdle(this)
  }

  idle(): Promise<void> {
    return this.#refills.idle()
  }

  /** Undefined: it leaves nothing to another process. */
  transfer(reason: Error): undefined {
    this.stop(reason)
  }

  abandon(reason: Error): Promise<void> {
    return this.close(reason)
  }

  async close(reason: Error): Promise<void> {
    this.stop(reason)
    await this.#refills.idle()
    this.#queue.refuse(reason)
  }

  #ask<Answer = void>(asked: AskedLines, change: ChangeLines<Answer>): Promise<Answer> {
    const over = this.#closed ?? this.#gate.ended ?? this.#refills.refusal
    if (over !== undefined) return Promise.reject(over)
    const answer = this.#queue.join(asked, change)
    this.#gate.noteBusy(this)
    this.#startSoon()
    return answer
  }

  #late(isSent: boolean): Error {
    return late(this.#incarnation.name, isSent, this.#refills.failure)
  }

  #start(): void {
    if (this.#refills.busy || !this.#gate.isOpen) return
    if (this.#queue.length > 0) this.#refills.start(true)
    else this.#gate.noteIdle(this)
  }

  #continue(): void {
    const over = this.#closed ?? this.#refills.refusal
    if (over !== undefined) this.#queue.refuse(over)
    this.#start()
  }

  async #turn(): Promise<void> {
    const { name } = this.#incarnation
    for (let tries = 0; tries < triesMax; tries++) {
      await this.#options.mayReserve?.(name)
      const lines = this.#lines ?? (await this.#load())
      // Until the outcome is known.
      this.#before = lines
      this.#lines = undefined
      const batch = await this.#batch(lines)
      lines.closing = this.#closing
      const outcomes = this.#change(lines, batch)
      if (!(await this.#commit(lines, batch, lines.end - this.#bound))) continue
      this.#lines = lines
      // If a copy is noticed, this ledger has been stopped when this returns.
      this.#options.mayIssue?.()
      if (this.#gate.isDropped) {
        this.#queue.refuse(this.#late(true), ({ isSent }) => isSent)
        return
      }
      for (const [at, { error, answer }] of outcomes.entries()) this.#queue.settle(batch[at]!, error, answer)
      return
    }
    throw new FahaoError('CONFLICT', `other writes keep changing the ledger of '${name}'; retry`)
  }

  /** The requests that wait, those whose lines were read for it among them. */
  async #batch(lines: LedgerLines): Promise<LedgerRequest[]> {
    const wanted = new Set<bigint>()
    for (const { number } of this.#queue.entries)
      if (number !== undefined && !lines.has(number) && wanted.size < pagesAtOnce) wanted.add(pageOf(number))
    const readOne = async (page: bigint) => {
      const key = pageKey(this.#prefix, page)
      const record = await this.#options.engine.read(key)
      const missing = new FahaoError('ENGINE', `the record ${key} is missing; restore a backup`)
      if (record !== undefined) lines.addPage(record)
      else this.#queue.refuse(missing, ({ number = -1n }) => pageOf(number) === page)
    }
    await Promise.all([...wanted].map(readOne))
    return [...this.#queue.entries]
  }

  /** Carries requests out in memory, as many as a commit takes: `batch` has these alone afterwards. */
  #change(lines: LedgerLines, batch: LedgerRequest[]): { error?: Error; answer?: unknown }[] {
    const outcomes: { error?: Error; answer?: unknown }[] = []
    for (const { number, bytes, by, change } of batch) {
      if (number !== undefined && !lines.has(number)) break
      if (!lines.hasRoom(bytes(lines))) {
        if (outcomes.length > 0) break
        const tooMany = 'these numbers lie too far apart for one write; ask for fewer at a time'
        outcomes.push({ error: new FahaoError('LIMIT', tooMany) })
        continue
      }
      try {
        outcomes.push({ answer: change(lines, this.#now(by)) })
      } catch (error) {
        if (!(error instanceof FahaoError)) throw error
        outcomes.push({ error })
      }
    }
    batch.length = outcomes.length
    return outcomes
  }

  /** Writes what was changed. False: another write came first, and the lines have to be read again. */
  async #commit(lines: LedgerLines, batch: readonly LedgerRequest[], size: bigint): Promise<boolean> {
    const { engine, clock } = this.#options
    const { counter: name } = this.#incarnation
    for (const entry of batch) entry.isSent = true
    const counter = { name, request: { size, ...this.#writer }, version: this.#version }
    const committed = await engine.commit({ records: lines.commit(), counter })
    this.#refuseOutdated()
    if (committed === undefined) return false
    lines.committed(committed.records, Math.floor(clock.wallUs() / 1000))
    this.#version = committed.reservation!.version
    this.#bound += size
    return true
  }

  /** The lines of the store, after which no earlier commit changes them. */
  async #load(): Promise<LedgerLines> {
    const { engine, clock, max } = this.#options
    const { name, counter, floor } = this.#incarnation
    this.#refuseOutdated()
    const sealed = await engine.reserve(counter, { size: 0n, floor, ...this.#writer })
    this.#refuseOutdated()
    this.#version = sealed.version
    this.#bound = sealed.end
    const record = await engine.read(headKey(this.#prefix))
    const head = record === undefined ? { first: floor, openPage: pageOf(floor), runs: [] } : readHead(record)
    const pages = await pagesFrom(engine, this.#prefix, head.openPage)
    const loaded = { name, prefix: this.#prefix, max, head, headVersion: record?.version, pages }
    const lines = new LedgerLines(loaded, clock.monoUs(), this.#before)
    while (lines.end < sealed.end) {
      lines.forget(sealed.end, this.#now(''))
      if (!(await this.#commit(lines, [], 0n)))
        throw new FahaoError('CONFLICT', `the ledger of '${name}' was just changed; retry`)
    }
    return lines
  }

  #now(by: string): Change {
    const { clock } = this.#options
    return { monoUs: clock.monoUs(), atMs: Math.floor(clock.wallUs() / 1000), by }
  }

  get #writer() {
    const { incarnation, fence } = this.#incarnation
    return fence === undefined ? { incarnation } : { incarnation, fence }
  }

  #refuseOutdated(): void {
    const { name, advances } = this.#incarnation
    if (this.#options.engine.advances === advances) return
    throw new FahaoError('STALE', `the store has been advanced since generator '${name}' was read; retry`)
  }
}

function freshSecrets(count: number): string[] {
  return Array.from({ length: count }, () => Buffer.from(secretBytes(12)).toString('base64url'))
}
