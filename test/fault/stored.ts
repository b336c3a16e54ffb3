/** What is durable, read from the store itself beside the server. */
import { DatabaseSync } from 'node:sqlite'
import { decode, layouts } from '../../src/ids.ts'

/** The stored bound of a counter; 0 when it has none. */
export function storedBound(file: string, generator: string): bigint {
  return withDatabase(file, (database) => {
    const row = database.prepare('SELECT last FROM counters WHERE name = ?').get(`generators/${generator}`)
    return row === undefined ? 0n : (row.last as bigint) + 1n
  })
}

/** The stored bound of a worker id, in Unix µs. */
export function storedWorkerBoundUs(file: string, workerId: number): bigint {
  return withDatabase(file, (database) => {
    const row = database.prepare('SELECT value FROM records WHERE key = ?').get(`workers/${workerId}`)
    return row === undefined ? 0n : BigInt(JSON.parse(row.value as string).boundUs)
  })
}

/** Every worker id that was ever claimed, with its bound in Unix µs. */
export function storedWorkerIds(file: string): { readonly id: number; readonly boundUs: bigint }[] {
  return withDatabase(file, (database) =>
    database
      .prepare("SELECT key, value FROM records WHERE key LIKE 'workers/%' AND value IS NOT NULL")
      .all()
      .map(({ key, value }) => ({
        id: Number((key as string).slice('workers/'.length)),
        boundUs: BigInt(JSON.parse(value as string).boundUs),
      })),
  )
}

/** What SQLite finds wrong with the whole file; `ok` when nothing is. */
export function integrity(file: string): string {
  return withDatabase(file, (database) =>
    Object.values(database.prepare('PRAGMA integrity_check').get()!).join(),
  )
}

/** Whether an id of the layout `twitter` lies below the stored bound: of its counter, or of its worker id. */
export function isCovered(file: string, kind: string, generator: string, id: bigint): boolean {
  if (kind === 'sequence' || kind === 'segment') return id < storedBound(file, generator)
  const { time, unixUs, node, sequence } = decode(layouts.twitter, id)
  if (kind === 'timestamp') return ((time << 12n) | BigInt(sequence)) < storedBound(file, generator)
  return unixUs < storedWorkerBoundUs(file, node)
}

function withDatabase<Result>(file: string, read: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file, { readOnly: true, readBigInts: true })
  try {
    return read(database)
  } finally {
    database.close()
  }
}
