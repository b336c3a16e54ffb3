/** The page that the hash of the URL names, so that links, the back button and bookmarks work. */
import { useEffect, useState } from 'preact/hooks'

/** A page, its parts behind the first, and its query. */
export type Route = {
  readonly page: string
  readonly rest: readonly string[]
  readonly query: ReadonlyMap<string, string>
}

/** The route of a hash such as `#/generators/order?match=o*`. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [page = '', ...rest] = path.split('/').map(decoded)
  return { page, rest, query: new Map(new URLSearchParams(query)) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** A link to a page. */
export function linkTo(
  page: string,
  rest: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const path = [page, ...rest].map(encodeURIComponent).join('/')
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(present as [string, string][]).toString()
  return `#/${path}${text === '' ? '' : `?${text}`}`
}

/** Goes to a page. */
export function go(link: string): void {
  location.hash = link
}

/** The route of now. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = () => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return routeOf(hash)
}
