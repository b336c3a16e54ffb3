/**
 * Callers that number documents by a ledger, and end at every point: before they confirm, in the middle of it, and before the document
 * is stored. Afterwards each number is accounted for once, and each document has a number of its own that the ledger confirms.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { RawReply } from '../launch/raw-reply.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { Asker } from './asker.ts'

const callers = 48
/** Short, so that numbers lapse and go out again while the callers run. */
const hold = '1s'
/** In how many of a hundred documents the caller ends there. */
const ends = { beforeConfirm: 8, whileConfirming: 5, beforeCommit: 5, failedCommit: 5 } as const

/** One line, as the HTTP API shows it. */
type Line = { readonly number: string; readonly to?: string; readonly state: string; readonly ref?: string }

/** The callers of the ledger `invoice`, and what they know in the end. */
export class LedgerCallers {
  /** The numbers of the documents that were stored, by reference. */
  readonly documents = new Map<string, bigint>()
  /** Numbers that were voided with an answer. */
  readonly voided = new Set<bigint>()
  /** Numbers that each reference has asked to confirm. */
  readonly asked = new Map<string, bigint>()
  readonly errors = new Map<string, number>()
  lapsed = 0
  readonly #running: Promise<void>[]
  #isStopping = false

  /** @param portOf is asked for the port of a caller. */
  constructor(portOf: (caller: number) => number) {
    this.#running = Array.from({ length: callers }, (_, caller) => this.#run(caller, () => portOf(caller)))
  }

  /** Resolves once this many documents more have numbers. */
  async wait(count: number): Promise<void> {
    const until = this.documents.size + count
    while (this.documents.size < until) await pause(5)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running)
  }

  /** Compares the ledger with the documents. Returns how many lines have each state. */
  async account(http: string): Promise<Map<string, number>> {
    const states = new Map<string, number>()
    const lines = new Map<bigint, Line>()
    let expected = 1n
    for await (const line of linesOf(http)) {
      assert.equal(BigInt(line.number), expected, 'numbers are accounted for in turn, each once')
      expected = BigInt(line.to ?? line.number) + 1n
      for (let number = BigInt(line.number); number < expected; number++) lines.set(number, line)
      states.set(line.state, (states.get(line.state) ?? 0) + Number(expected - BigInt(line.number)))
    }
    const numbers = new Set(this.documents.values())
    assert.equal(numbers.size, this.documents.size, 'a number was confirmed for two documents')
    for (const [ref, number] of this.documents) {
      const line = lines.get(number)
      assert.deepEqual([line?.state, line?.ref], ['confirmed', ref], `number ${number} of ${ref}`)
    }
    for (const number of this.voided) assert.equal(lines.get(number)?.state, 'void', `number ${number}`)
    for (const [number, { state, ref }] of lines)
      if (state === 'confirmed')
        assert.equal(this.asked.get(ref!), number, `${number} is confirmed, and ${ref} did not ask for that`)
    return states
  }

  async #run(caller: number, port: () => number): Promise<void> {
    const asker = new Asker(port)
    for (let count = 0; !this.#isStopping; count++) await this.#number(asker, `doc-${caller}-${count}`)
    await asker.close()
  }

  async #number(asker: Asker, ref: string): Promise<void> {
    const reserved = await asker.ask('ID.RESERVE', 'invoice', 'REF', ref, 'HOLD', hold)
    // Without an answer the caller takes another number; this one lapses.
    if (!this.#isAnswer(reserved)) return
    const [text, reservation] = reserved as string[]
    const number = BigInt(text!)
    const fate = Math.random() * 100
    if (fate < ends.beforeConfirm) return
    this.asked.set(ref, number)
    const confirm = ['ID.CONFIRM', 'invoice', reservation!]
    if (fate < ends.beforeConfirm + ends.whileConfirming) {
      // The process ends before the answer comes.
      void asker.ask(...confirm)
      return asker.close()
    }
    if (!(await this.#untilKnown(asker, confirm))) {
      this.lapsed++
      return
    }
    const { beforeConfirm, whileConfirming, beforeCommit, failedCommit } = ends
    const ended = beforeConfirm + whileConfirming + beforeCommit
    if (fate < ended) return
    if (fate >= ended + failedCommit) {
      this.documents.set(ref, number)
      return
    }
    const isVoid = await this.#untilKnown(asker, ['ID.VOID', 'invoice', reservation!, 'the commit failed'])
    assert.ok(isVoid, `number ${number} cannot be voided`)
    this.voided.add(number)
  }

  /** Asks until the outcome is known. Resolves to whether it was done: not, if the reservation has lapsed. */
  async #untilKnown(asker: Asker, command: readonly string[]): Promise<boolean> {
    for (;;) {
      const reply = await asker.ask(...command)
      if (this.#isAnswer(reply)) return true
      if (reply instanceof ReplyError) {
        if (reply.code === 'LAPSED') return false
        await pause(10)
      }
    }
  }

  #isAnswer(reply: RawReply | undefined): boolean {
    if (!(reply instanceof ReplyError)) return reply !== undefined
    this.errors.set(reply.code, (this.errors.get(reply.code) ?? 0) + 1)
    return false
  }
}

async function* linesOf(http: string): AsyncGenerator<Line> {
  for (let from: string | null = '0'; from !== null; ) {
    const answer = await fetch(`${http}/v1/generators/invoice/ledger?count=1000&from=${from}`)
    assert.equal(answer.status, 200)
    const page = (await answer.json()) as { lines: Line[]; next: string | null }
    yield* page.lines
    from = page.next
  }
}
