/**
 * Words that no text of an id contains. Case, look-alikes and all that is no letter or digit make no difference: `B0OB`, `8o-ob`
 * and `boob` are one word.
 */
import type { Template } from './template.ts'

/** The letters that digits, and letters which look like others, stand for. */
const meant: Readonly<Record<string, string>> = Object.fromEntries(
  ['0o', '1i', 'li', '2z', '3e', '4a', '5s', '6g', '7t', '8b', '9g', 'uv'].map(([char, letter]) => [
    char,
    letter,
  ]),
)
/** The letter of each ASCII character as 1 to 26; 0 of all that is passed over. */
const letterOf = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code).toLowerCase()
  return /[0-9a-z]/.test(char) ? (meant[char] ?? char).charCodeAt(0) - 96 : 0
})

/** Words, as a tree of their letters. */
export class Words {
  /** Of each node: its letter, its first child, the next child of its parent (0: none), and whether a word ends with it. */
  readonly #letters: Uint8Array
  readonly #children: Uint16Array
  readonly #siblings: Uint16Array
  readonly #ends: Uint8Array

  /** @param words letters and digits, 65,000 characters at most. */
  constructor(words: readonly string[]) {
    const size = words.join('').length + 1
    this.#letters = new Uint8Array(size)
    this.#children = new Uint16Array(size)
    this.#siblings = new Uint16Array(size)
    this.#ends = new Uint8Array(size)
    let nodes = 1
    for (const word of words) {
      let node = 0
      for (let at = 0; at < word.length; at++) {
        const letter = letterOf[word.charCodeAt(at)]!
        let child = this.#childOf(node, letter)
        if (child === 0) {
          child = nodes++
          this.#letters[child] = letter
          this.#siblings[child] = this.#children[node]!
          this.#children[node] = child
        }
        node = child
      }
      this.#ends[node] = 1
    }
  }

  /** Where the word ends that ends first in a text; −1: it contains none. */
  endIn(text: string): number {
    let end = -1
    for (let start = 0; start < text.length; start++) {
      let node = 0
      for (let at = start; at < text.length && (end < 0 || at < end); at++) {
        const letter = letterOf[text.charCodeAt(at)] ?? 0
        if (letter === 0) continue
        node = this.#childOf(node, letter)
        if (node === 0) break
        if (this.#ends[node] === 1) end = at + 1
      }
    }
    return end
  }

  #childOf(node: number, letter: number): number {
    let child = this.#children[node]!
    while (child !== 0 && this.#letters[child] !== letter) child = this.#siblings[child]!
    return child
  }
}

/** The ids of a format whose texts contain a word: in their digits, or where these and the check digits meet. */
export class AvoidedIds {
  readonly #words: Words
  readonly #format: Template

  constructor(words: readonly string[], format: Template) {
    this.#words = new Words(words)
    this.#format = format
  }

  /**
   * An id itself if its text contains no word; otherwise one above it: all ids between them have the same word in the same
   * place.
   */
  from(id: bigint): bigint {
    const { digits, radix, code } = this.#format.codeOf(id)
    const end = this.#words.endIn(digits)
    if (end < 0) return this.#words.endIn(code) < 0 ? id : id + 1n
    const alike = BigInt(radix) ** BigInt(digits.length - end)
    return (id / alike + 1n) * alike
  }
}
