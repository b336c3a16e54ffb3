/** The requests for plain worker ids. */
import { fieldsOf, isReturned, query, type Request } from './requests.ts'

/** A plain worker id as the service leases it. */
export type WorkerGrant = {
  readonly worker: number
  readonly lease: string
  /** From when the request was sent. */
  readonly ttlMs: number
  /** Unix ms; −1: none. */
  readonly lastSeenMs: number
}

/** What to claim; see `WorkerOptions`. */
export type WorkerTerms = {
  readonly owner: string
  readonly size?: number
  readonly ttlMs?: number
  readonly restMs?: number
  readonly stable?: boolean
}

/** `ID.WORKER CLAIM` */
export function claimWorkerRequest(pool: string, terms: WorkerTerms): Request<WorkerGrant> {
  const { owner, size, ttlMs, restMs, stable } = terms
  const words: [string, number | undefined][] = [
    ['SIZE', size],
    ['TTL', ttlMs],
    ['REST', restMs],
  ]
  const given = words.flatMap(([word, value]) => (value === undefined ? [] : [word, String(value)]))
  const ms = (value: number | undefined) => (value === undefined ? undefined : `${value}ms`)
  const asked = query({ owner, size, ttl: ms(ttlMs), rest: ms(restMs), stable: stable || undefined })
  return {
    name: '',
    words: ['ID.WORKER', 'CLAIM', pool, 'OWNER', owner, ...given, ...(stable ? ['STABLE'] : [])],
    method: 'POST',
    path: `${pathOf(pool)}?${asked}`,
    read: workerOf,
  }
}

/** `ID.WORKER RENEW` */
export function renewWorkerRequest(pool: string, lease: string): Request<WorkerGrant> {
  return {
    name: '',
    words: ['ID.WORKER', 'RENEW', pool, lease],
    method: 'PATCH',
    path: `${pathOf(pool)}/${encodeURIComponent(lease)}`,
    read: workerOf,
  }
}

/** `ID.WORKER RETURN`; resolves to whether there was such a lease. */
export function returnWorkerRequest(pool: string, lease: string): Request<boolean> {
  return {
    name: '',
    words: ['ID.WORKER', 'RETURN', pool, lease],
    method: 'DELETE',
    path: `${pathOf(pool)}/${encodeURIComponent(lease)}`,
    read: isReturned,
  }
}

function pathOf(pool: string): string {
  return `/v1/pools/${encodeURIComponent(pool)}/workers`
}

function workerOf(reply: unknown): WorkerGrant {
  const { worker, lease, ttlMs, lastSeenMs } = fieldsOf(reply)
  return {
    worker: Number(worker),
    lease: String(lease),
    ttlMs: Number(ttlMs),
    lastSeenMs: Number(lastSeenMs),
  }
}
