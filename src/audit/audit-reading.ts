/** Reading the audit trail: newest first, a page at a time. The trail is bounded, so a page reads all of it. */
import { globMatcher } from '../base/glob.ts'
import type { Engine } from '../engine/engine.ts'
import { type AuditEntry, partsOf } from './audit-entry.ts'
import { readEntries } from './audit-ring.ts'

/** Which entries to read; an absent member admits all. */
export type AuditQuery = {
  readonly user?: string | undefined
  readonly event?: string | undefined
  /** A glob. */
  readonly object?: string | undefined
  /** Unix time in µs. */
  readonly sinceUs?: number | undefined
  /** The `next` of the page before. */
  readonly after?: string | undefined
  /** The most entries of a page. */
  readonly limit: number
}

/** A page of entries, newest first; `next`: where the page that follows begins, undefined on the last. */
export type AuditPage = { readonly entries: readonly AuditEntry[]; readonly next: string | undefined }

/** Reads a page. Fails with UNAVAILABLE. */
export async function readAuditPage(store: Pick<Engine, 'list'>, query: AuditQuery): Promise<AuditPage> {
  const { user, event, object, sinceUs = 0, after, limit } = query
  const parts = event === undefined ? undefined : partsOf(event)
  const matches = object === undefined ? () => true : globMatcher(object)
  const found = (await readEntries(store, parts))
    .filter((entry) => user === undefined || entry.user === user)
    .filter((entry) => event === undefined || entry.event === event)
    .filter((entry) => matches(entry.object))
    .filter((entry) => entry.timeUs >= sinceUs)
    .map((entry) => ({ entry, place: placeOf(entry) }))
    .filter(({ place }) => after === undefined || place < after)
    .sort((a, b) => (a.place < b.place ? 1 : -1))
  const page = found.slice(0, limit)
  return {
    entries: page.map(({ entry }) => entry),
    next: found.length > limit ? page.at(-1)?.place : undefined,
  }
}

/** The place of an entry in the order of time, as text that sorts alike. */
function placeOf({ timeUs, id }: AuditEntry): string {
  return `${String(timeUs).padStart(16, '0')}-${id}`
}
