/**
 * The credentials of this tab: an Authorization header, in sessionStorage and nowhere else.
 *
 * Invariants
 *  1. No credential is part of a URL, of a cookie, or of what outlasts the tab.
 *  2. Listeners hear of each login and of each end of one.
 */

const key = 'fahao.authorization'
const listeners = new Set<(refused: boolean) => void>()

/** What is sent as Authorization; undefined: nothing. */
export function authorization(): string | undefined {
  return sessionStorage.getItem(key) ?? undefined
}

/** Keeps the header of a login, or ends it. `refused`: because the node has refused it. */
export function keepAuthorization(header: string | undefined, refused = false): void {
  if (header === undefined) sessionStorage.removeItem(key)
  else sessionStorage.setItem(key, header)
  for (const listener of listeners) listener(refused)
}

/** Calls `listener` at each change; returns how to end that. */
export function onAuthorization(listener: (refused: boolean) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The header of a user with its password. RFC 7617, in UTF-8. */
export function basicHeader(user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/** The header of a token. */
export function bearerHeader(token: string): string {
  return `Bearer ${token.trim()}`
}
