/**
 * What clients were told, and the checks over it: the model that every fault run is held against.
 * Times are microseconds of the machine's monotonic clock, which all processes share (`nowUs` in load.ts).
 */

import { ReplyLog } from './reply-log.ts'

/** One acknowledged reply: ids in the order of the reply. */
export type Acknowledged = {
  readonly ids: readonly bigint[]
  /** Before the request was sent. */
  readonly sentUs: number
  /** After the reply was received. */
  readonly receivedUs: number
  /** Number of the connection, over all restarts of the server. */
  readonly connection: number
}

/** Everything acknowledged for one generator. */
export class Journal {
  readonly replies = new ReplyLog()
  #highest = -1n

  add(reply: Acknowledged): void {
    this.replies.push(reply)
    for (const id of reply.ids) if (id > this.#highest) this.#highest = id
  }

  get count(): number {
    return this.replies.idCount
  }

  /** −1 when there is none. */
  get highest(): bigint {
    return this.#highest
  }

  /** Ids that were acknowledged twice. */
  repeated(): bigint[] {
    const sorted = this.replies.sortedIds()
    const found: bigint[] = []
    for (let at = 1; at < sorted.length; at++) if (sorted[at] === sorted[at - 1]) found.push(sorted[at]!)
    return found
  }

  /**
   * Pairs that break strict order: a reply was received before another request was sent, and yet holds the
   * larger id. Empty is what `sequence` and `timestamp` promise.
   */
  outOfOrder(): string[] {
    const points = [...this.replies].flatMap(({ ids, sentUs, receivedUs }) =>
      ids.map((id) => ({ id, sentUs, receivedUs })),
    )
    points.sort((a, b) => (a.id < b.id ? 1 : -1))
    const found: string[] = []
    let earliest = { id: 0n, receivedUs: Number.POSITIVE_INFINITY }
    for (const { id, sentUs, receivedUs } of points) {
      if (earliest.receivedUs < sentUs) found.push(`${earliest.id} was received before ${id} was asked for`)
      if (receivedUs < earliest.receivedUs) earliest = { id, receivedUs }
    }
    return found
  }

  /** Replies of one connection that do not increase: the order that every kind keeps on one node. */
  notIncreasing(): string[] {
    const newest = new Map<number, bigint>()
    const found: string[] = []
    for (const { ids, connection } of this.replies) {
      for (const id of ids) {
        const before = newest.get(connection)
        if (before !== undefined && id <= before)
          found.push(`${id} after ${before} on connection ${connection}`)
        newest.set(connection, id)
      }
    }
    return found
  }

  /** The longest time between two replies since `fromUs`, or until the first and after the last, in ms. */
  silenceMs(fromUs: number, toUs: number): number {
    let beforeUs = fromUs
    let longestUs = 0
    for (const { receivedUs } of this.replies) {
      if (receivedUs < fromUs || receivedUs > toUs) continue
      longestUs = Math.max(longestUs, receivedUs - beforeUs)
      beforeUs = receivedUs
    }
    return Math.max(longestUs, toUs - beforeUs) / 1000
  }

  /** How long requests took that were sent in this time, the shortest first, in ms. */
  latenciesMs(fromUs: number, toUs: number): number[] {
    return [...this.replies]
      .filter(({ sentUs }) => sentUs >= fromUs && sentUs <= toUs)
      .map(({ sentUs, receivedUs }) => (receivedUs - sentUs) / 1000)
      .sort((a, b) => a - b)
  }

  /** How many values between the lowest and the highest were never acknowledged. */
  gaps(): bigint {
    const sorted = this.replies.sortedIds()
    return sorted.length === 0 ? 0n : sorted.at(-1)! - sorted[0]! + 1n - BigInt(sorted.length)
  }

  /** How often values are missing between two that were acknowledged. */
  jumps(): number {
    const sorted = this.replies.sortedIds()
    return sorted.filter((id, at) => at > 0 && id > sorted[at - 1]! + 1n).length
  }
}
