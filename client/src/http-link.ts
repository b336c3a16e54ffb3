/** HTTP to one node, on `fetch`: in browsers, Workers and edge functions too. Connections are fetch's own business. */
import type { Clock } from '../../src/base/clock.ts'
import { describe, FahaoError } from '../../src/base/errors.ts'
import { errorOf, type Link, Unsent } from './link.ts'
import type { Settings } from './options.ts'
import type { Request } from './requests.ts'

/** A node that speaks HTTP. */
export class HttpLink implements Link {
  readonly node: string
  readonly #base: string
  readonly #settings: Settings
  readonly #clock: Clock
  readonly #headers: Readonly<Record<string, string>>
  readonly #pending = new Set<AbortController>()

  constructor(url: URL, settings: Settings, clock: Clock) {
    this.node = url.origin
    this.#base = url.origin + url.pathname.replace(/\/$/, '')
    this.#settings = settings
    this.#clock = clock
    this.#headers = {
      // Nodes advise in the words of this package then.
      accept: 'application/json;client=fahao-client',
      ...authorization(settings),
    }
  }

  async send({ method, path, body, key }: Request<unknown>, timeoutMs: number): Promise<unknown> {
    const ending = new AbortController()
    const timer = this.#clock.timer(timeoutMs, () => ending.abort())
    this.#pending.add(ending)
    try {
      const response = await this.#settings.fetch(this.#base + path, {
        method,
        headers: {
          ...this.#headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': JSON.stringify(key) }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: ending.signal,
        // A cached id would be a repeated one.
        cache: 'no-store',
      })
      const text = await response.text()
      if (response.ok) return text === '' ? undefined : JSON.parse(text)
      throw refusal(response, text)
    } catch (error) {
      if (error instanceof FahaoError) throw error
      const why = ending.signal.aborted
        ? `no answer within ${Math.round(timeoutMs)} ms`
        : describe(causeOf(error))
      const ask = `is it running${ending.signal.aborted ? '' : `, is this its HTTP port${this.#alsoAsk()}`}?`
      const text = `${this.node} cannot be reached (${why}); ${ask}`
      throw isUnsent(error) ? new Unsent(text, error) : new FahaoError('UNAVAILABLE', text, { cause: error })
    } finally {
      timer.cancel()
      this.#pending.delete(ending)
    }
  }

  close(): void {
    for (const ending of this.#pending) ending.abort()
  }

  /** A browser does not tell a page that a node refuses its origin. */
  #alsoAsk(): string {
    const { location } = globalThis as { readonly location?: { readonly origin?: string } }
    const origin = location?.origin
    return origin === undefined || origin === this.node ? '' : `, and does its http-origins name ${origin}`
  }
}

function authorization({ username, password, token }: Settings): Readonly<Record<string, string>> {
  if (token !== undefined) return { authorization: `Bearer ${token}` }
  if (password === undefined) return {}
  const bytes = new TextEncoder().encode(`${username ?? 'default'}:${password}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}

/** The problem details of an error answer; a proxy in between answers with pages of its own. */
function refusal(response: Response, text: string): FahaoError {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined
  try {
    const { code, detail } = JSON.parse(text)
    if (typeof code === 'string') return errorOf(code, String(detail), retryAfterMs)
  } catch {
    // No problem details.
  }
  const said = `HTTP ${response.status} ${response.statusText}`
  return response.status >= 500
    ? new FahaoError('UNAVAILABLE', `${response.url} answered ${said}; retry`)
    : new FahaoError('ERR', `${response.url} answered ${said}; check the URL`)
}

/** fetch hides the reason in `cause`. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}

/** What runtimes say where no connection came about. Browsers do not tell. */
const connectFailures = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
]

function isUnsent(error: unknown): boolean {
  const { code } = Object(causeOf(error)) as { readonly code?: unknown }
  return connectFailures.some((each) => each === code)
}
