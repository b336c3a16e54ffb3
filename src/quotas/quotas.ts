/**
 * What the namespaces allow on this node: a token bucket for ids per second, a counter of the ids of a UTC day, the
 * callers that wait. `namespace.ts` has the limits themselves, and the catalogue counts generators (`generator-limits.ts`).
 *
 * Invariants
 *  1. In any span of t seconds at most `idsPerSecond` × (t + 1) ids are charged and kept, and at most `idsPerDay` in a
 *     UTC day of this process.
 *  2. A request is charged to all quotas that count it, or to none.
 *  3. A change of a namespace keeps what has been charged; a dropped one is forgotten.
 *  4. All arithmetic is on whole numbers below 2^53, so that a caller that waits as long as the error says is served.
 */

import type { Access } from '../auth/access.ts'
import type { FahaoError } from '../base/errors.ts'
import { globMatcher, matchWork } from '../base/glob.ts'
import type { Turns } from '../base/turns.ts'
import { type Namespace, namespaceError } from './namespace.ts'
import type { Namespaces } from './namespaces.ts'

const secondUs = 1_000_000
const dayUs = 86_400 * secondUs

/** What one namespace has counted on this node, since the node has known it. */
export type QuotaFigures = {
  /** Ids issued. */
  readonly issued: number
  /** Requests refused. */
  readonly refused: number
  /** Callers that wait for ids now. */
  readonly waiting: number
  /** The part of `idsPerDay` that is used up today: 1 is all, and more than 1 follows a lowered limit. Undefined: no limit. */
  readonly shareOfDay: number | undefined
}

/** What one namespace allows and has counted, on this node. */
export class Quota {
  #namespace: Namespace
  /** Ids issued. */
  issued = 0
  /** Requests refused. */
  refused = 0
  /** Callers that wait for ids. */
  waiting = 0
  /** Millionths of an id. */
  #credit = 0
  #creditUs: number
  /** The UTC day of `#chargedOfDay`. */
  #day: number
  #chargedOfDay = 0
  #newest: { readonly reason: string; readonly error: FahaoError } | undefined
  #matches: (generator: string) => boolean

  /** @param nowUs Unix µs. */
  constructor(namespace: Namespace, nowUs: number) {
    this.#namespace = namespace
    this.#matches = globMatcher(namespace.match)
    this.#creditUs = nowUs
    this.#day = Math.floor(nowUs / dayUs)
    this.#credit = this.#creditMax
  }

  get namespace(): Namespace {
    return this.#namespace
  }

  /** Whether it counts the requests of a user for a generator. */
  counts(generator: string, user: string): boolean {
    const { user: only } = this.#namespace
    return (only === undefined || only === user) && this.#matches(generator)
  }

  /** Goes on under changed limits. */
  change(namespace: Namespace, nowUs: number): void {
    this.#advance(nowUs)
    const { idsPerSecond } = this.#namespace
    this.#namespace = namespace
    this.#newest = undefined
    this.#matches = globMatcher(namespace.match)
    this.#credit = idsPerSecond === undefined ? this.#creditMax : Math.min(this.#credit, this.#creditMax)
  }

  /** How many ids may be issued now; Infinity without a limit. */
  available(nowUs: number): number {
    this.#advance(nowUs)
    const { idsPerSecond, idsPerDay = Number.POSITIVE_INFINITY } = this.#namespace
    const burst = idsPerSecond === undefined ? Number.POSITIVE_INFINITY : Math.floor(this.#credit / secondUs)
    return Math.min(burst, idsPerDay - this.#chargedOfDay)
  }

  /** Counts ids that are about to be issued. `available` has returned as many. */
  charge(count: number): void {
    if (this.#namespace.idsPerSecond !== undefined) this.#credit -= count * secondUs
    this.#chargedOfDay += count
  }

  /** Takes a charge back. */
  giveBack(count: number, chargedUs: number): void {
    this.#credit = Math.min(this.#creditMax, this.#credit + count * secondUs)
    if (Math.floor(chargedUs / dayUs) === this.#day) this.#chargedOfDay -= count
  }

  /** What it has counted, since this node has known it. */
  figures(nowUs: number): QuotaFigures {
    this.#advance(nowUs)
    const { idsPerDay } = this.#namespace
    const shareOfDay = idsPerDay === undefined ? undefined : this.#chargedOfDay / idsPerDay
    return { issued: this.issued, refused: this.refused, waiting: this.waiting, shareOfDay }
  }

  /** How long a request for `count` ids has to wait, in ms: 0 if it is allowed, Infinity if it never is. */
  waitMs(count: number, nowUs: number): number {
    if (count > this.#most) return Number.POSITIVE_INFINITY
    if (count <= this.available(nowUs)) return 0
    const { idsPerSecond, idsPerDay } = this.#namespace
    const tomorrowUs = (this.#day + 1) * dayUs - nowUs
    const dayWaitUs = idsPerDay !== undefined && idsPerDay - this.#chargedOfDay < count ? tomorrowUs : 0
    const missing = count * secondUs - this.#credit
    const burstWaitUs = idsPerSecond === undefined ? 0 : Math.ceil(missing / idsPerSecond)
    return Math.ceil(Math.max(dayWaitUs, burstWaitUs) / 1000)
  }

  /** The error for a request that has to wait; counts it. The same error serves many requests: a stack trace costs more than an id. */
  refusal(count: number, nowUs: number): FahaoError {
    this.refused++
    const waitMs = this.waitMs(count, nowUs)
    const reason = this.#reason(count, waitMs)
    if (this.#newest?.reason !== reason) {
      const error =
        waitMs === Number.POSITIVE_INFINITY
          ? namespaceError('LIMIT', this.#namespace, reason)
          : namespaceError('QUOTA', this.#namespace, reason, waitMs)
      this.#newest = { reason, error }
    }
    return this.#newest.error
  }

  /** Lets a caller wait; throws BUSY if as many wait as may. */
  admitWaiting(): void {
    const { waiting = Number.POSITIVE_INFINITY } = this.#namespace
    if (this.waiting < waiting) return void this.waiting++
    this.refused++
    const what = `has ${this.waiting} requests waiting on this node already; retry with a pause`
    throw namespaceError('BUSY', this.#namespace, what)
  }

  /** The largest request that is ever allowed. */
  get #most(): number {
    const { idsPerSecond, idsPerDay } = this.#namespace
    return Math.min(idsPerSecond ?? Number.POSITIVE_INFINITY, idsPerDay ?? Number.POSITIVE_INFINITY)
  }

  get #creditMax(): number {
    return (this.#namespace.idsPerSecond ?? 0) * secondUs
  }

  /** The error's sentence after the namespace. */
  #reason(count: number, waitMs: number): string {
    const { idsPerSecond, idsPerDay } = this.#namespace
    if (count > this.#most) return `may issue at most ${ids(this.#most)} at once; ask for fewer at a time`
    if (idsPerDay !== undefined && idsPerDay - this.#chargedOfDay < count) {
      const left = idsPerDay - this.#chargedOfDay
      return `may issue ${ids(idsPerDay)} a day on this node, and ${Math.max(0, left)} are left until midnight UTC; retry in ${longWait(waitMs)}`
    }
    return `may issue ${ids(idsPerSecond!)} a second on this node; retry in ${waitMs} ms`
  }

  #advance(nowUs: number): void {
    const elapsedUs = Math.min(nowUs - this.#creditUs, secondUs)
    if (elapsedUs <= 0) return
    this.#creditUs = nowUs
    const { idsPerSecond } = this.#namespace
    if (idsPerSecond !== undefined)
      this.#credit = Math.min(this.#creditMax, this.#credit + elapsedUs * idsPerSecond)
    const day = Math.floor(nowUs / dayUs)
    if (day === this.#day) return
    this.#day = day
    this.#chargedOfDay = 0
  }
}

function ids(count: number): string {
  return `${count} ${count === 1 ? 'id' : 'ids'}`
}

/** Whole minutes, not less than the wait: `19h 5m`. */
function longWait(waitMs: number): string {
  const minutes = Math.ceil(waitMs / 60_000)
  const parts = [Math.floor(minutes / 60), minutes % 60]
  return parts
    .map((part, index) => `${part}${'hm'[index]}`)
    .filter((part) => !part.startsWith('0'))
    .join(' ')
}

/** The quotas that count the requests of one user for one generator. */
export class Meter {
  readonly #quotas: readonly Quota[]
  readonly #nowUs: () => number

  constructor(quotas: readonly Quota[], nowUs: () => number) {
    this.#quotas = quotas
    this.#nowUs = nowUs
  }

  /** How many ids may be issued at this moment; Infinity: any number. */
  available(nowUs: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const quota of this.#quotas) least = Math.min(least, quota.available(nowUs))
    return least
  }

  /** How many of `count` ids may be issued now: at least 1, or QUOTA is thrown. */
  allowed(count: number): number {
    const nowUs = this.#nowUs()
    const least = Math.min(count, this.available(nowUs))
    if (least >= 1) return least
    throw this.#refusal(1, nowUs)
  }

  /** Counts ids that have been issued, as `allowed` has allowed in the same callback. */
  issued(count: number): void {
    for (const quota of this.#quotas) {
      quota.charge(count)
      quota.issued += count
    }
  }

  /**
   * Carries out a draw, which is charged unless it rejects. Throws QUOTA or LIMIT before it starts.
   * @param issuedOf how many ids an answer has, at most `count`.
   */
  async draw<Ids>(
    count: number,
    draw: (onWait: () => void) => Promise<Ids>,
    issuedOf: (ids: Ids) => number = () => count,
  ): Promise<Ids> {
    const nowUs = this.#nowUs()
    for (const quota of this.#quotas) if (quota.available(nowUs) < count) throw this.#refusal(count, nowUs)
    for (const quota of this.#quotas) quota.charge(count)
    const waitingIn: Quota[] = []
    try {
      const ids = await draw(() => this.#admitWaiting(waitingIn))
      const issued = issuedOf(ids)
      for (const quota of this.#quotas) {
        quota.issued += issued
        quota.giveBack(count - issued, nowUs)
      }
      return ids
    } catch (error) {
      for (const quota of this.#quotas) quota.giveBack(count, nowUs)
      throw error
    } finally {
      for (const quota of waitingIn) quota.waiting--
    }
  }

  #admitWaiting(waitingIn: Quota[]): void {
    // A draw that continues on an altered generator waits again.
    if (waitingIn.length > 0) return
    for (const quota of this.#quotas) {
      quota.admitWaiting()
      waitingIn.push(quota)
    }
  }

  #refusal(count: number, nowUs: number): FahaoError {
    return this.#longest(count, nowUs).refusal(count, nowUs)
  }

  /** The quota that a request has to wait for longest. */
  #longest(count: number, nowUs: number): Quota {
    let longest = this.#quotas[0]!
    for (const quota of this.#quotas)
      if (quota.waitMs(count, nowUs) > longest.waitMs(count, nowUs)) longest = quota
    return longest
  }
}

/** The quotas of all namespaces. */
export class Quotas {
  readonly #namespaces: Namespaces
  readonly #nowUs: () => number
  #byName = new Map<string, Quota>()
  #revision = -1
  #work = 0

  /** @param nowUs Unix µs; never decreases. */
  constructor(namespaces: Namespaces, nowUs: () => number) {
    this.#namespaces = namespaces
    this.#nowUs = nowUs
  }

  /** One quota for each namespace. */
  all(): readonly Quota[] {
    this.#update()
    return [...this.#byName.values()]
  }

  /** The quotas of namespaces whose pattern is within what a caller may name. */
  async shownTo(access: Access, turns: Turns): Promise<readonly Quota[]> {
    const shown: Quota[] = []
    for (const quota of this.all()) {
      // A pattern is up to twice as long as a name.
      await turns.take(2 * access.work)
      if (access.reaches(quota.namespace.match)) shown.push(quota)
    }
    return shown
  }

  /** The quota of this namespace, if the caller may name every generator that its pattern matches. */
  oneShownTo(access: Access, name: string): Quota | undefined {
    const quota = this.all().find(({ namespace }) => namespace.name === name)
    return quota !== undefined && access.reaches(quota.namespace.match) ? quota : undefined
  }

  /** The longest time of `meterOf`, as the bytes of a reply that take as long. */
  get work(): number {
    this.#update()
    return this.#work
  }

  /** What counts the requests of a user for a generator; undefined: no namespace does. */
  meterOf(generator: string, user: string): Meter | undefined {
    const quotas = this.all().filter((quota) => quota.counts(generator, user))
    return quotas.length === 0 ? undefined : new Meter(quotas, this.#nowUs)
  }

  #update(): void {
    if (this.#revision === this.#namespaces.revision) return
    this.#revision = this.#namespaces.revision
    const nowUs = this.#nowUs()
    const before = this.#byName
    this.#work = this.#namespaces.all.reduce((sum, { match }) => sum + matchWork(match), 0)
    this.#byName = new Map(
      this.#namespaces.all.map((namespace) => {
        const quota = before.get(namespace.name) ?? new Quota(namespace, nowUs)
        quota.change(namespace, nowUs)
        return [namespace.name, quota]
      }),
    )
  }
}
