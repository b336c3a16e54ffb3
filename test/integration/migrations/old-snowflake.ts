/** The key generator inside sharding-jdbc, in China's time zone: 41 bits of ms, 10 of worker id, 12 of sequence from 0. */

const epochMs = Date.parse('2016-11-01T00:00:00+08:00')
const sequenceMax = 4095

/** One application's generator. */
export class OldShardingJdbc {
  readonly #workerId: number
  #lastMs = 0
  #sequence = 0

  constructor(workerId: number) {
    this.#workerId = workerId
  }

  /** The next id; spins to the next millisecond when this one is used up. */
  next(): bigint {
    let nowMs = Date.now()
    if (nowMs < this.#lastMs) throw new Error('Clock is moving backwards')
    if (nowMs === this.#lastMs && this.#sequence === sequenceMax)
      while (nowMs === this.#lastMs) nowMs = Date.now()
    this.#sequence = nowMs === this.#lastMs ? this.#sequence + 1 : 0
    this.#lastMs = nowMs
    return (BigInt(nowMs - epochMs) << 22n) | BigInt((this.#workerId << 12) | this.#sequence)
  }
}
