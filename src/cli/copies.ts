/** What `backup` and `restore` have in common: which store, and what was copied. */
import type { CopySummary } from '../engine/sqlite/backup.ts'
import { momentText } from '../ids/moment.ts'
import type { Config } from '../node/config-schema.ts'
import { UsageError } from './exit-codes.ts'
import { fields, grouped } from './terminal.ts'

/** The file of the configured store. Throws UsageError for engines that keep none. */
export function storeFile({ engine }: Config): string {
  const file = /^sqlite:(.+)$/.exec(engine)?.[1]
  if (file !== undefined) return file
  throw new UsageError(
    `only SQLite stores are copied by file, and the engine is ${engine}; use --engine sqlite:FILE`,
  )
}

/** What was copied, line by line. */
export function copyLines({ file, bytes, counters, records, lastWriteUs }: CopySummary): string[] {
  return fields([
    ['file', file],
    ['bytes', grouped(bytes)],
    ['counters', grouped(counters)],
    ['records', grouped(records)],
    ['newest write', lastWriteUs === 0 ? 'none' : momentText(BigInt(lastWriteUs))],
  ])
}
