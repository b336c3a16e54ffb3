/**
 * Where the proxy is known to give something else than AUTO_INCREMENT. The table of the documentation says the same to
 * users: LAST_INSERT_ID(n) and LAST_INSERT_ID(id), which the proxy writes into statements, take effect when the server
 * evaluates them.
 */

/** For each such step, what the proxy gives where AUTO_INCREMENT gives `direct`. */
const known: Readonly<Record<string, (direct: string) => string>> = {
  // A row that was updated has its id reported, also if nothing of it changed, and LAST_INSERT_ID() gives it.
  duplicate: (direct) => withOwn(direct, 'duplicate-1'),
  'duplicate-same': (direct) => withOwn(direct, 'duplicate-same-1'),
  // A row that was not inserted has used an id up, and LAST_INSERT_ID() gives it; the reply says that there is none.
  ignore: (direct) => direct.replace(/last [^;]*/, 'last gap'),
  clash: (direct) => direct.replace(/last [^;]*/, 'last gap'),
}

/** What is expected of a step through the proxy that gave `direct` with AUTO_INCREMENT. */
export function expectedOf(step: string, direct: string): string {
  return known[step]?.(direct) ?? direct
}

function withOwn(direct: string, customer: string): string {
  return direct.replace(/ids [^;]*/, `ids ${customer}`).replace(/last [^;]*/, `last ${customer}`)
}
