/**
 * Finds a text in another one in a time linear in both (Knuth, Morris and Pratt): V8's own search takes the product of their
 * lengths for texts such as a long row of one letter.
 */

/** The product of a text and a part below this length is small: V8 finds it sooner. */
const shortMax = 16

/** Where `part` first begins in `text`, or -1. */
export function indexIn(text: string, part: string): number {
  return part.length < shortMax ? text.indexOf(part) : find(text, part, bordersOf(part), 0)
}

/** The pieces of `text` between the occurrences of `separator`, which is not empty. */
export function splitBy(text: string, separator: string): string[] {
  if (separator.length < shortMax) return text.split(separator)
  const borders = bordersOf(separator)
  const pieces: string[] = []
  let from = 0
  for (;;) {
    const at = find(text, separator, borders, from)
    if (at < 0) break
    pieces.push(text.slice(from, at))
    from = at + separator.length
  }
  pieces.push(text.slice(from))
  return pieces
}

/** For each beginning of `part`, the length of the longest shorter one that it ends with. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part.charCodeAt(at) !== part.charCodeAt(length)) length = borders[length - 1]!
    if (part.charCodeAt(at) === part.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}

function find(text: string, part: string, borders: Int32Array, from: number): number {
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1]!
    if (part.charCodeAt(matched) === unit) matched++
    if (matched === part.length) return at - matched + 1
  }
  return -1
}
