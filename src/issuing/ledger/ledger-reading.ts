/** Reads the lines of a ledger in the order of their numbers, and chains them by their hashes. */
import { createHash } from 'node:crypto'
import type { Engine, StoredRecord } from '../../engine/engine.ts'
import {
  type Close,
  firstOfPage,
  headKey,
  type LedgerHead,
  type LineRun,
  pageKey,
  pageOf,
  pageOfKey,
  pagesPrefix,
  readHead,
  readPage,
} from './ledger-records.ts'
import type { Line } from './line.ts'

/** A line, of one number or of several in a row. */
export type LedgerEntry = { readonly from: bigint; readonly to: bigint } & Line

/** A part of a ledger. `more`: lines follow. */
export type LedgerPart = {
  readonly head: LedgerHead | undefined
  readonly entries: readonly LedgerEntry[]
  readonly more: boolean
}

/** A line as it is exported, shown and hashed: its members stand in this order. */
export type ExportedLine = {
  readonly number: string
  /** The last number of a run. */
  readonly to?: string
  readonly state: Line['state']
  readonly ref?: string
  readonly when: string
  readonly by: string
  readonly why?: string
}

/** What the first line of a ledger continues. */
export const noHash = '0'.repeat(64)
const pagesAtOnce = 50

type Store = Pick<Engine, 'read' | 'list'>

/** Reads a head; undefined: nothing was ever reserved. */
export async function headOf(engine: Store, prefix: string): Promise<LedgerHead | undefined> {
  const record = await engine.read(headKey(prefix))
  return record && readHead(record)
}

/** The lines from a number on, as the last acknowledged writes left them, in parts. */
export async function* entriesFrom(
  engine: Store,
  prefix: string,
  head: LedgerHead,
  from: bigint,
): AsyncGenerator<LedgerEntry[]> {
  const runs = head.runs.filter(({ to }) => to >= from)
  const removed = head.removed?.through ?? -1n
  const isShown = ({ to }: LedgerEntry) => to >= from && to > removed
  for (let after = before(prefix, from > removed ? from : removed + 1n); ; ) {
    const pages = await engine.list(pagesPrefix(prefix), { after, limit: pagesAtOnce })
    const entries: LedgerEntry[] = []
    for (const record of pages) {
      const first = firstOfPage(pageOfKey(prefix, record.key))
      for (const [at, line] of readPage(record).entries()) {
        const number = first + BigInt(at)
        if (line === undefined) continue
        while (runs[0] !== undefined && runs[0].from < number) entries.push(entryOf(runs.shift()!))
        entries.push({ from: number, to: number, ...line })
      }
    }
    const isLast = pages.length < pagesAtOnce
    if (isLast) entries.push(...runs.splice(0).map(entryOf))
    yield entries.filter(isShown)
    if (isLast) return
    after = pages.at(-1)!.key
  }
}

/** Up to `count` lines from a number on. */
export async function readPart(
  engine: Store,
  prefix: string,
  from: bigint,
  count: number,
): Promise<LedgerPart> {
  const head = await headOf(engine, prefix)
  const entries: LedgerEntry[] = []
  if (head === undefined) return { head, entries, more: false }
  for await (const part of entriesFrom(engine, prefix, head, from)) {
    entries.push(...part)
    if (entries.length > count) break
  }
  return { head, entries: entries.slice(0, count), more: entries.length > count }
}

/** The key before that of a number's page. */
function before(prefix: string, number: bigint): string | undefined {
  const page = pageOf(number)
  return page === 0n ? undefined : pageKey(prefix, page - 1n)
}

function entryOf(run: LineRun): LedgerEntry {
  return run
}

/** A line as it is exported. */
export function exported({ from, to, state, ref, atMs, by, why }: LedgerEntry): ExportedLine {
  return {
    number: String(from),
    ...(to !== from && { to: String(to) }),
    state,
    ...(ref !== undefined && { ref }),
    when: new Date(atMs).toISOString(),
    by,
    ...(why !== undefined && { why }),
  }
}

/** The hash of a line that follows the line with the hash `previous`. */
export function hashAfter(previous: string, line: ExportedLine): string {
  const { number, to, state, ref, when, by, why } = line
  const text = JSON.stringify({ number, to, state, ref, when, by, why })
  return createHash('sha256').update(`${previous}\n${text}`).digest('hex')
}

/** The pages from one on. */
export async function pagesFrom(engine: Store, prefix: string, page: bigint): Promise<StoredRecord[]> {
  const pages: StoredRecord[] = []
  for (let after = before(prefix, firstOfPage(page)); ; after = pages.at(-1)!.key) {
    const more = await engine.list(pagesPrefix(prefix), { after, limit: pagesAtOnce })
    pages.push(...more)
    if (more.length < pagesAtOnce) return pages
  }
}

/** What the close of all numbers up to this one keeps of their lines. */
export async function chainOf(
  engine: Store,
  prefix: string,
  through: bigint,
): Promise<Pick<Close, 'through' | 'hash' | 'previous' | 'numbers'>> {
  const head = (await headOf(engine, prefix))!
  const from = head.closed === undefined ? head.first : head.closed.through + 1n
  const previous = head.closed?.hash ?? noHash
  let hash = previous
  for await (const part of entriesFrom(engine, prefix, head, from))
    for (const entry of part) if (entry.to <= through) hash = hashAfter(hash, exported(entry))
  return { through, hash, previous, numbers: through - from + 1n }
}

/** Removes the pages of which all lines may be removed. What is interrupted is continued by the next call. */
export async function removeLines(engine: Store & Pick<Engine, 'remove'>, prefix: string): Promise<void> {
  const removed = (await headOf(engine, prefix))?.removed
  if (removed === undefined) return
  for (;;) {
    const pages = await engine.list(pagesPrefix(prefix), { limit: pagesAtOnce })
    const gone = pages.filter(({ key }) => pageOfKey(prefix, key) < pageOf(removed.through + 1n))
    for (const { key, version } of gone) await engine.remove(key, version)
    if (gone.length < pagesAtOnce) return
  }
}
