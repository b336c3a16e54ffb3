/**
 * The cursors of one session: DECLARE computes a whole result, and each FETCH gives some of its rows.
 * https://www.postgresql.org/docs/15/sql-declare.html
 *
 * Invariants
 *  1. A cursor ends with its transaction, unless it is WITH HOLD and the transaction is committed.
 *  2. There are at most `cursorsMax` cursors, with at most `rowsMax` rows and `heldBytesMax` bytes together.
 */
import { Output } from './output.ts'
import type { CursorFacts } from './query/analysed.ts'
import { type Column, type Formats, type Result, writeRow } from './result.ts'
import { SqlError } from './sql-error.ts'

const cursorsMax = 100
const rowsMax = 100_000
const heldBytesMax = 33_554_432
/** About what a column of a result takes, and what is held for each letter of a text. */
const columnBytes = 128
const textBytes = 16

/** A cursor. Its position is the number of its present row, from 1; 0 is before the first, and count + 1 behind the last. */
export type Cursor = {
  readonly facts: CursorFacts
  readonly columns: readonly Column[]
  /** Its rows as text. */
  readonly result: Result
  position: number
  /** Its number among the cursors of the session, in the order of `add`, which sets it. */
  serial: number
}

/**
 * How far FETCH goes. `by`: rows from the present one on; `to`: the row of this number, from the end if negative; `step`: the
 * single row at this distance.
 */
export type Direction =
  | { readonly kind: 'by'; readonly count: number }
  | { readonly kind: 'to' | 'step'; readonly row: number }

/** The cursors of one session. */
export class Cursors {
  readonly #byName = new Map<string, Cursor>()
  /** How many were added. */
  #added = 0

  /** About how much memory the cursors take, in bytes. */
  get heldBytes(): number {
    let bytes = 0
    for (const cursor of this.#byName.values()) bytes += heldBytesOf(cursor)
    return bytes
  }

  /** Throws 42P03 if there is a cursor of this name, 54000 if there are too many. */
  demandFree(name: string): void {
    if (this.#byName.has(name)) throw new SqlError('42P03', `cursor "${name}" already exists`)
    if (this.#byName.size >= cursorsMax)
      throw new SqlError('54000', `a connection has at most ${cursorsMax} cursors; close some`)
  }

  /** Adds a cursor. Throws as `demandFree`, and 54000 if the cursors would hold too many rows or bytes. */
  add(cursor: Cursor): void {
    this.demandFree(cursor.facts.name)
    let rows = cursor.result.count
    for (const { result } of this.#byName.values()) rows += result.count
    if (rows > rowsMax)
      throw new SqlError('54000', `the cursors of a connection hold at most ${rowsMax} rows; close some`)
    if (this.heldBytes + heldBytesOf(cursor) > heldBytesMax)
      throw new SqlError(
        '54000',
        `the cursors of a connection hold at most ${heldBytesMax} bytes; close some, or select less`,
      )
    cursor.serial = ++this.#added
    this.#byName.set(cursor.facts.name, cursor)
  }

  /** All cursors, as pg_cursors shows them. */
  all(): CursorFacts[] {
    return [...this.#byName.values()].map(({ facts }) => facts)
  }

  /** The cursor of this name, if there is one. */
  find(name: string): Cursor | undefined {
    return this.#byName.get(name)
  }

  /** The cursor of this name. Throws 34000 if there is none. */
  get(name: string): Cursor {
    const cursor = this.#byName.get(name)
    if (cursor === undefined) throw new SqlError('34000', `cursor "${name}" does not exist`)
    return cursor
  }

  /** CLOSE. Errors: 34000. */
  close(name: string): void {
    this.get(name)
    this.#byName.delete(name)
  }

  /** CLOSE ALL. */
  clear(): void {
    this.#byName.clear()
  }

  /** Returns what closes all cursors that are added from now on. It keeps no reference to the present ones. */
  mark(): () => void {
    const added = this.#added
    return () => {
      for (const [name, { serial }] of this.#byName) if (serial > added) this.#byName.delete(name)
    }
  }

  /** The transaction is committed. */
  endTransaction(): void {
    for (const [name, { facts }] of this.#byName) if (!facts.isHeld) this.#byName.delete(name)
  }
}

function heldBytesOf({ result, facts, columns }: Cursor): number {
  return (result.heldBytes ?? 0) + facts.text.length * textBytes + columns.length * columnBytes
}

/** FETCH: the rows in this direction. Moves the cursor. Throws 55000 for a way back that NO SCROLL has closed. */
export function fetchFrom(cursor: Cursor, direction: Direction, formats: Formats = []): Result {
  const rows = rowsOf(cursor, direction)
  const { result, columns } = cursor
  const types = columns.map(({ type }) => type)
  return {
    tag: `FETCH ${rows.length}`,
    count: rows.length,
    // The rows stay for it when the cursor is closed.
    heldBytes: result.heldBytes ?? 0,
    write(output, row) {
      if (formats.every((format) => format === 0)) return result.write(output, rows[row]! - 1)
      const texts = textsOf(result, rows[row]! - 1)
      writeRow(output, types, formats, (column) => texts[column]!)
    },
  }
}

/** Filled and emptied within one call. */
const scratch = new Output()

/** The values of a row. */
function textsOf(result: Result, row: number): (string | null)[] {
  scratch.clear()
  result.write(scratch, row)
  const message = scratch.takeBytes()
  let at = 7
  return Array.from({ length: message.readUInt16BE(5) }, () => {
    const length = message.readInt32BE(at)
    at += 4
    if (length < 0) return null
    at += length
    return message.toString('utf8', at - length, at)
  })
}

/** MOVE: as FETCH, without rows. Returns how many FETCH would have given. */
export function moveFrom(cursor: Cursor, direction: Direction): number {
  return rowsOf(cursor, direction).length
}

function rowsOf(cursor: Cursor, direction: Direction): number[] {
  const { position } = cursor
  const { count } = cursor.result
  if (direction.kind === 'by') return walk(cursor, direction.count)
  const { kind, row } = direction
  const wanted = kind === 'step' ? position + row : row < 0 ? count + 1 + row : row
  demandWay(cursor, wanted - position)
  cursor.position = Math.max(0, Math.min(wanted, count + 1))
  return cursor.position >= 1 && cursor.position <= count ? [cursor.position] : []
}

function walk(cursor: Cursor, count: number): number[] {
  const { position, result } = cursor
  demandWay(cursor, count)
  const rows: number[] = []
  if (count === 0) return position >= 1 && position <= result.count ? [position] : []
  const [way, end] = count > 0 ? [1, result.count + 1] : [-1, 0]
  let at = position
  while (at !== end && rows.length < Math.abs(count)) {
    at += way
    if (at !== end) rows.push(at)
  }
  cursor.position = at
  return rows
}

function demandWay({ facts }: Cursor, by: number): void {
  if (facts.isForward && by < 0)
    throw new SqlError('55000', 'cursor can only scan forward', {
      hint: 'Declare it with SCROLL option to enable backward scan.',
    })
}
