/** Weeks of ISO 8601. Local times are in ms, as if they were UTC. */

const dayMs = 86_400_000
/** Days from Monday 0001-01-01 to 1970-01-01. */
export const daysBefore1970 = 719_162

/** The ISO year and week of a local time. */
export function isoWeekOf(wallMs: number): { readonly year: number; readonly week: number } {
  const days = Math.floor(wallMs / dayMs)
  const thursday = days - ((days + daysBefore1970) % 7) + 3
  const year = new Date(thursday * dayMs).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0) / dayMs) / 7) + 1
  return { year, week }
}

/** The Monday on which an ISO year begins, as local time. */
export function mondayOf(year: number): number {
  // The fourth of January lies in the first week.
  const days = Date.UTC(year, 0, 4) / dayMs
  return (days - ((days + daysBefore1970) % 7)) * dayMs
}
