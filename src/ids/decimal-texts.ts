/**
 * Decimal texts of ids that are taken one after the other. Ids of a counter share all but their last digits with the one
 * before: those are kept as text, and the last three come from a table. So most ids need neither a bigint nor a division.
 */

const tailDigits = 3
const tails: string[] = []
const tailsCount = 10 ** tailDigits
/** Ids that are at most this far apart are expected to share their upper digits. */
const nearMax = 100

const words = new Uint32Array(2)
const wide = new BigUint64Array(words.buffer)
const [lowWord, highWord] = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? [0, 1] : [1, 0]

/** Texts of one generator's ids. */
export class DecimalTexts {
  /** The ids from `#from` on whose high half is `#hi` begin with `#prefix`, as far as the table reaches. */
  #prefix = ''
  #hi = -1
  #from = 0
  /** The low half of the newest id that was not among them. */
  #lo = -nearMax

  /** The text of the id with these halves. */
  of(hi: number, lo: number): string {
    const tail = lo - this.#from
    if (hi === this.#hi && tail >= 0 && tail < tailsCount) return this.#prefix + tails[tail]
    return this.#other(hi, lo)
  }

  #other(hi: number, lo: number): string {
    words[lowWord] = lo
    words[highWord] = hi
    const text = String(wide[0]!)
    const isNear = Math.abs(lo - this.#lo) <= nearMax
    this.#lo = lo
    if (isNear && text.length > tailDigits) this.#expect(hi, lo, text)
    return text
  }

  /** Keeps the upper digits of an id for those after it. */
  #expect(hi: number, lo: number, text: string): void {
    for (let tail = tails.length; tail < tailsCount; tail++)
      tails.push(String(tail).padStart(tailDigits, '0'))
    this.#prefix = text.slice(0, -tailDigits)
    this.#from = lo - Number(text.slice(-tailDigits))
    this.#hi = hi
  }
}
