/** Reads a text behind a question of the proxy, which has changed what the server tells of earlier statements. */
import { diagnosticsSlices } from './diagnostics.ts'
import type { Reading, ReadingContext } from './reading.ts'
import { diagnosticsLost } from './refusal.ts'
import type { Slices } from './slices.ts'
import { readingSlices } from './statements.ts'

/** As `readingSlices`; a text that would be sent is refused if it reads what the question has changed. */
export function* readingBehindQuestion(sql: Buffer, context: ReadingContext): Slices<Reading> {
  const reading = yield* readingSlices(sql, context)
  const isSent = reading.kind === 'relay' || reading.kind === 'fill'
  return isSent && (yield* diagnosticsSlices(sql)) ? { kind: 'refuse', refusal: diagnosticsLost } : reading
}
