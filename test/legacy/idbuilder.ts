/**
 * An IdBuilder node: a locking read, an update by version with a hundred tries, sequential and random order. Its
 * known faults (the first id after a start issued twice, a cast to 32 bits) are left out: they would hide others'.
 */
import type { OldDatabase } from './database.ts'
import type { OldNode } from './old-node.ts'

const tries = 100
const usedShare = 0.75

type Held = {
  start: bigint
  step: number
  used: Set<number>
  sequential: boolean
  value: number
  /** As Java's concatenation writes it: the word null for none. */
  prefix: string
}

/** One IdBuilder node on the table `t_id_builder_config`. */
export class IdBuilderNode implements OldNode {
  readonly #database: OldDatabase
  readonly #random: () => number
  /** Its start-up parameter `idBuilder.index`. */
  readonly #index: string
  readonly #codes = new Map<string, Held>()
  readonly #fetching = new Map<string, Promise<void>>()

  constructor(database: OldDatabase, random: () => number = Math.random, index = '1') {
    this.#database = database
    this.#random = random
    this.#index = index
  }

  /** The next id as the paths with `-str` answer it. */
  async nextText(code: string): Promise<string> {
    const id = await this.next(code)
    return `${this.#codes.get(code)!.prefix}${this.#index}${id}`
  }

  next(code: string): bigint | Promise<bigint> {
    const held = this.#codes.get(code)
    return (held && take(held, this.#random)) ?? this.#fetchFirst(code)
  }

  /** The request that finds the range used up waits for the database. */
  async #fetchFirst(code: string): Promise<bigint> {
    let fetching = this.#fetching.get(code)
    if (fetching === undefined) {
      fetching = this.#fetch(code).finally(() => this.#fetching.delete(code))
      this.#fetching.set(code, fetching)
    }
    await fetching
    return this.next(code)
  }

  async #fetch(code: string): Promise<void> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const held = await this.#reserve(code)
      if (held === undefined) continue
      this.#codes.set(code, held)
      return
    }
    throw new Error(`code ${code}: a hundred tries failed`)
  }

  #reserve(code: string): Promise<Held | undefined> {
    return this.#database.transaction(async (send) => {
      const [row] = (
        await send(
          'SELECT id, init_num, current_threshold, step, version, is_seq, biz_code FROM t_id_builder_config WHERE id = ? FOR UPDATE',
          [code],
        )
      ).rows
      if (row === undefined) throw new Error(`there is no code ${code}`)
      const { changed } =
        row.current_threshold === null
          ? await send(
              'UPDATE t_id_builder_config SET current_threshold = init_num + step, version = version + 1 WHERE id = ? AND version = ?',
              [code, row.version],
            )
          : await send(
              'UPDATE t_id_builder_config SET current_threshold = current_threshold + step, version = version + 1 WHERE id = ? AND version = ?',
              [code, row.version],
            )
      if (changed !== 1) return undefined
      const start = BigInt(row.current_threshold ?? row.init_num!)
      const [step, sequential, prefix] = [Number(row.step), row.is_seq === '0', String(row.biz_code)]
      return { start, step, used: new Set(), sequential, value: 0, prefix }
    })
  }
}

function take(held: Held, random: () => number): bigint | undefined {
  if (held.sequential) return held.value < held.step ? held.start + BigInt(held.value++) : undefined
  if (held.used.size >= held.step * usedShare) return undefined
  for (;;) {
    const index = Math.floor(random() * held.step)
    if (held.used.has(index)) continue
    held.used.add(index)
    return held.start + BigInt(index)
  }
}
