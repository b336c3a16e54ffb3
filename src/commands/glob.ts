/**
 * Redis's patterns: `*` anything, `?` one character, `[abc]`, `[a-z]` and `[^a]` one of a set, `\` takes the next
 * character as it is. Characters are code points here; Redis's are bytes.
 *
 * Time is bounded by the length of the name times the length of the pattern, whatever the pattern: only the
 * newest `*` is ever tried again, because an earlier one has nothing to gain by taking more.
 */

/** One character of a pattern; undefined is `*`. */
type Piece = ((character: string) => boolean) | undefined

/** A function that says whether a text matches the pattern from its start to its end. */
export function compileGlob(pattern: string): (text: string) => boolean {
  if (pattern === '*') return () => true
  const pieces = parse([...pattern])
  const least = pieces.filter((piece) => piece !== undefined).length
  return (text) => {
    const characters = [...text]
    return characters.length >= least && matches(pieces, characters)
  }
}

function matches(pieces: readonly Piece[], text: readonly string[]): boolean {
  let at = 0
  let piece = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    if (piece < pieces.length && pieces[piece] === undefined) {
      star = piece++
      starAt = at
    } else if (piece < pieces.length && pieces[piece]!(text[at]!)) {
      piece++
      at++
    } else if (star >= 0) {
      piece = star + 1
      at = ++starAt
    } else {
      return false
    }
  }
  while (piece < pieces.length && pieces[piece] === undefined) piece++
  return piece === pieces.length
}

function parse(pattern: readonly string[]): Piece[] {
  const pieces: Piece[] = []
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index]!
    if (character === '*') {
      if (pieces.length === 0 || pieces.at(-1) !== undefined) pieces.push(undefined)
    } else if (character === '?') {
      pieces.push(() => true)
    } else if (character === '[') {
      const [piece, end] = parseSet(pattern, index + 1)
      pieces.push(piece)
      index = end
    } else {
      // A backslash at the very end stands for itself.
      const literal = character === '\\' ? (pattern[++index] ?? '\\') : character
      pieces.push((other) => other === literal)
    }
  }
  return pieces
}

/** A set from after its `[`, and where its `]` stands. One that is never closed ends with the pattern. */
function parseSet(pattern: readonly string[], from: number): [piece: Piece, end: number] {
  let index = from
  const negated = pattern[index] === '^'
  if (negated) index++
  const ranges: (readonly [low: number, high: number])[] = []
  for (; index < pattern.length && pattern[index] !== ']'; index++) {
    if (pattern[index] === '\\' && index + 1 < pattern.length) {
      const code = codeOf(pattern[++index]!)
      ranges.push([code, code])
    } else if (pattern[index + 1] === '-' && index + 2 < pattern.length) {
      const ends = [codeOf(pattern[index]!), codeOf(pattern[index + 2]!)] as const
      ranges.push([Math.min(...ends), Math.max(...ends)])
      index += 2
    } else {
      const code = codeOf(pattern[index]!)
      ranges.push([code, code])
    }
  }
  const contains = (character: string) => {
    const code = codeOf(character)
    return ranges.some(([low, high]) => code >= low && code <= high)
  }
  return [(character) => contains(character) !== negated, index]
}

function codeOf(character: string): number {
  return character.codePointAt(0)!
}
