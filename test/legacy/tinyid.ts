/** A tinyid server: optimistic updates with three tries, the next segment at 20 %, delta and remainder. */
import type { OldDatabase } from './database.ts'
import type { OldNode } from './old-node.ts'

const tries = 3
const loadingPercent = 20n

/** Ids are in (current, max]. */
class Segment {
  readonly #max: bigint
  readonly #loading: bigint
  readonly #delta: bigint
  #current: bigint

  constructor(current: bigint, max: bigint, delta: bigint, remainder: bigint) {
    this.#max = max
    this.#delta = delta
    this.#loading = current + ((max - current) * loadingPercent) / 100n
    this.#current = current
    while (this.#current % delta !== remainder) this.#current++
    if (this.#current > current) this.#current -= delta
  }

  /** The next id, and whether it is time to load; undefined when there is none. */
  next(): bigint | undefined {
    this.#current += this.#delta
    return this.#current > this.#max ? undefined : this.#current
  }

  get low(): boolean {
    return this.#current >= this.#loading
  }
}

type Held = { current: Segment; next: Segment | undefined; loading: Promise<void> | undefined }

/** One tinyid server on the table `tiny_id_info`. */
export class TinyidNode implements OldNode {
  readonly #database: OldDatabase
  readonly #types = new Map<string, Held>()

  constructor(database: OldDatabase) {
    this.#database = database
  }

  next(type: string): bigint | Promise<bigint> {
    const held = this.#types.get(type)
    const id = held?.current.next()
    if (held === undefined || id === undefined) return this.#wait(type, held)
    if (held.current.low && held.next === undefined) this.#load(type, held)
    return id
  }

  async #wait(type: string, held: Held | undefined): Promise<bigint> {
    if (held === undefined) {
      const current = await this.#nextSegment(type)
      if (!this.#types.has(type)) this.#types.set(type, { current, next: undefined, loading: undefined })
      return this.next(type)
    }
    if (held.next === undefined) this.#load(type, held)
    await held.loading
    if (held.next !== undefined) {
      held.current = held.next
      held.next = undefined
    }
    return this.next(type)
  }

  #load(type: string, held: Held): void {
    held.loading ??= this.#nextSegment(type)
      .then((segment) => {
        held.next = segment
      })
      .finally(() => {
        held.loading = undefined
      })
    // A failure rejects the waiting call; without one, the next call tries again.
    held.loading.catch(() => {})
  }

  #nextSegment(type: string): Promise<Segment> {
    return this.#database.transaction(async (send) => {
      for (let attempt = 0; attempt < tries; attempt++) {
        const [row] = (
          await send(
            'select id, biz_type, begin_id, max_id, step, delta, remainder, create_time, update_time, version from tiny_id_info where biz_type = ?',
            [type],
          )
        ).rows
        if (row === undefined) throw new Error(`can not find biztype:${type}`)
        const before = BigInt(row.max_id!)
        const after = before + BigInt(row.step!)
        const { changed } = await send(
          'update tiny_id_info set max_id= ?, update_time=now(), version=version+1 where id=? and max_id=? and version=? and biz_type=?',
          [String(after), row.id, row.max_id, row.version, type],
        )
        if (changed === 1) return new Segment(before, after, BigInt(row.delta!), BigInt(row.remainder!))
      }
      throw new Error('get next segmentId conflict')
    })
  }
}
