/**
 * What the store keeps of a ledger: pages of lines, a head, and a record for each close. Pages are changed by commits alone, together
 * with the counter of the numbers.
 */
import { FahaoError } from '../../base/errors.ts'
import type { StoredRecord } from '../../engine/engine.ts'
import { type Line, readLine } from './line.ts'

/** How many numbers a page has: as many as fit into a record, however long their lines are. */
export const pageSize = 32

/** Numbers in a row with one fate. */
export type LineRun = {
  readonly from: bigint
  readonly to: bigint
  readonly state: 'void' | 'unknown'
  readonly atMs: number
  readonly by: string
  readonly why: string
}

/** The end of a part of a ledger that never changes again. */
export type Close = {
  /** The last number of the part. */
  readonly through: bigint
  /** The hash of its last line, which contains those of all before. */
  readonly hash: string
  /** The hash that its first line continues. */
  readonly previous: string
  /** How many numbers the part accounts for. */
  readonly numbers: bigint
  readonly atMs: number
  readonly by: string
}

/** What a ledger keeps beside its pages. */
export type LedgerHead = {
  /** The first number that it accounts for. */
  readonly first: bigint
  /** All lines on pages before this one are final, and their keys forgotten. */
  readonly openPage: bigint
  /** In ascending order. */
  readonly runs: readonly LineRun[]
  /** The newest close. */
  readonly closed?: Close | undefined
  /** The lines up to the end of this close have been removed. */
  readonly removed?: Close | undefined
}

/** What the keys of all records of one ledger begin with, and of no other: names have no spaces. */
export function ledgerPrefix(name: string): string {
  return `ledger/${name} `
}

/** The key of the head. */
export function headKey(prefix: string): string {
  return `${prefix}head`
}

/** Where all pages begin. */
export function pagesPrefix(prefix: string): string {
  return `${prefix}p`
}

/** The key of a page. Keys are in the order of pages. */
export function pageKey(prefix: string, page: bigint): string {
  return `${pagesPrefix(prefix)}${String(page).padStart(19, '0')}`
}

/** The key of a close. Keys are in the order of closes. */
export function closeKey(prefix: string, through: bigint): string {
  return `${prefix}close/${String(through).padStart(19, '0')}`
}

/** The page of a number. */
export function pageOf(number: bigint): bigint {
  return number / BigInt(pageSize)
}

/** The first number of a page. */
export function firstOfPage(page: bigint): bigint {
  return page * BigInt(pageSize)
}

/** The number of a page, by its key. */
export function pageOfKey(prefix: string, key: string): bigint {
  return BigInt(key.slice(pagesPrefix(prefix).length))
}

/** The value of a page, by the texts of its lines. */
export function writePage(texts: readonly (string | undefined)[]): string {
  return `[${Array.from(texts, (text) => text ?? 'null').join(',')}]`
}

/** The lines of a page; undefined: the ledger does not account for that number. */
export function readPage(record: StoredRecord): (Line | undefined)[] {
  return readRecord(record, (stored: unknown[]) =>
    stored.map((line) => (line === null ? undefined : readLine(line as Record<string, unknown>))),
  )
}

/** The value of a head. */
export function writeHead(head: LedgerHead): string {
  return JSON.stringify(head, bigAsText)
}

/** Reads a head. */
export function readHead(record: StoredRecord): LedgerHead {
  return readRecord(record, ({ first, openPage, runs, closed, removed }: StoredHead) => ({
    first: BigInt(first),
    openPage: BigInt(openPage),
    runs: runs.map((run) => ({ ...run, from: BigInt(run.from), to: BigInt(run.to) })),
    closed: closed && closeOf(closed),
    removed: removed && closeOf(removed),
  }))
}

/** The value of a close. */
export function writeClose(close: Close): string {
  return JSON.stringify(close, bigAsText)
}

/** Reads a close. */
export function readClose(record: StoredRecord): Close {
  return readRecord(record, closeOf)
}

/** As JSON has it: numbers of 64 bits are texts. */
type Stored<Value> = {
  readonly [Name in keyof Value]: Value[Name] extends bigint ? string : Value[Name]
}

type StoredHead = {
  readonly first: string
  readonly openPage: string
  readonly runs: readonly Stored<LineRun>[]
  readonly closed?: Stored<Close>
  readonly removed?: Stored<Close>
}

function closeOf(stored: Stored<Close>): Close {
  return { ...stored, through: BigInt(stored.through), numbers: BigInt(stored.numbers) }
}

function readRecord<Parsed, Value>({ key, value }: StoredRecord, read: (parsed: Parsed) => Value): Value {
  try {
    return read(JSON.parse(value))
  } catch (cause) {
    throw new FahaoError('ENGINE', `the record ${key} cannot be read; restore it from a backup`, { cause })
  }
}

function bigAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
