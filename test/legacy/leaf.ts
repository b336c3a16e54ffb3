/**
 * A Leaf node's segment mode: its statements, its two segments, its adaptive step. Errors carry its codes: −2 for
 * an unknown tag, −3 when both segments are empty.
 */
import type { OldDatabase, Row } from './database.ts'
import type { OldNode } from './old-node.ts'

const stepMax = 1_000_000
const segmentDurationMs = 15 * 60_000

type Segment = { value: bigint; max: bigint; step: number }

class Buffer {
  readonly segments: [Segment, Segment] = [empty(), empty()]
  position: 0 | 1 = 0
  nextReady = false
  initialised: Promise<void> | undefined
  loading: Promise<void> | undefined
  /** As Leaf keeps them: the step in use, the table's, and when the last one was loaded. */
  step = 0
  stepMin = 0
  updatedMs = 0

  get current(): Segment {
    return this.segments[this.position]
  }
}

/** One Leaf server on the table `leaf_alloc`. */
export class LeafNode implements OldNode {
  readonly #database: OldDatabase
  #tags = new Map<string, Buffer>()

  private constructor(database: OldDatabase) {
    this.#database = database
  }

  /** Loads the tags, as a node does when it starts. */
  static async start(database: OldDatabase): Promise<LeafNode> {
    const node = new LeafNode(database)
    await node.reloadTags()
    return node
  }

  /** What Leaf does every minute: new tags come, removed ones go. */
  async reloadTags(): Promise<void> {
    const { rows } = await this.#database.send('SELECT biz_tag FROM leaf_alloc')
    if (rows.length === 0) return
    const known = this.#tags
    this.#tags = new Map(rows.map(({ biz_tag }) => [biz_tag!, known.get(biz_tag!) ?? new Buffer()]))
  }

  next(tag: string): bigint | Promise<bigint> {
    const buffer = this.#tags.get(tag)
    if (buffer === undefined) throw new Error('-2')
    const { current } = buffer
    if (buffer.loading === undefined && !buffer.nextReady && isLow(current) && buffer.initialised)
      this.#load(tag, buffer)
    if (current.value < current.max) return current.value++
    return this.#waitForNext(tag, buffer)
  }

  async #waitForNext(tag: string, buffer: Buffer): Promise<bigint> {
    buffer.initialised ??= this.#initialise(tag, buffer)
    await buffer.initialised
    for (;;) {
      const { current } = buffer
      if (buffer.loading === undefined && !buffer.nextReady && isLow(current)) this.#load(tag, buffer)
      if (current.value < current.max) return current.value++
      await buffer.loading
      const same = buffer.current
      if (same.value < same.max) return same.value++
      if (!buffer.nextReady) throw new Error('-3')
      buffer.position = buffer.position === 0 ? 1 : 0
      buffer.nextReady = false
    }
  }

  async #initialise(tag: string, buffer: Buffer): Promise<void> {
    try {
      const row = await this.#updateMaxId(tag)
      buffer.step = Number(row.step)
      buffer.stepMin = buffer.step
      fill(buffer.current, row, buffer.step)
    } catch (error) {
      buffer.initialised = undefined
      throw error
    }
  }

  #load(tag: string, buffer: Buffer): void {
    const next = buffer.segments[buffer.position === 0 ? 1 : 0]
    buffer.loading = this.#update(tag, buffer, next)
      .then(
        () => {
          buffer.nextReady = true
        },
        () => {},
      )
      .finally(() => {
        buffer.loading = undefined
      })
  }

  async #update(tag: string, buffer: Buffer, segment: Segment): Promise<void> {
    if (buffer.updatedMs === 0) {
      const row = await this.#updateMaxId(tag)
      buffer.step = Number(row.step)
      buffer.stepMin = buffer.step
      buffer.updatedMs = Date.now()
      return fill(segment, row, buffer.step)
    }
    const durationMs = Date.now() - buffer.updatedMs
    let step = buffer.step
    if (durationMs < segmentDurationMs) step = step * 2 > stepMax ? step : step * 2
    else if (durationMs >= segmentDurationMs * 2)
      step = Math.floor(step / 2) >= buffer.stepMin ? Math.floor(step / 2) : step
    const row = await this.#updateMaxIdByCustomStep(tag, step)
    buffer.updatedMs = Date.now()
    buffer.step = step
    buffer.stepMin = Number(row.step)
    fill(segment, row, step)
  }

  #updateMaxId(tag: string): Promise<Row> {
    return this.#database.transaction(async (send) => {
      await send('UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?', [tag])
      return only(
        (await send('SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?', [tag])).rows,
        tag,
      )
    })
  }

  #updateMaxIdByCustomStep(tag: string, step: number): Promise<Row> {
    return this.#database.transaction(async (send) => {
      await send('UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?', [step, tag])
      return only(
        (await send('SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = ?', [tag])).rows,
        tag,
      )
    })
  }
}

function empty(): Segment {
  return { value: 0n, max: 0n, step: 0 }
}

function isLow({ value, max, step }: Segment): boolean {
  return Number(max - value) < 0.9 * step
}

function fill(segment: Segment, { max_id }: Row, step: number): void {
  segment.max = BigInt(max_id!)
  segment.value = segment.max - BigInt(step)
  segment.step = step
}

function only(rows: readonly Row[], key: string): Row {
  if (rows.length === 1) return rows[0]!
  throw new Error(`there is no row '${key}'`)
}
