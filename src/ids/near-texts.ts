/** The texts that a mistyped one may have been: one error of a person away from it. */

/** Signs that people take for one another, in either case. */
const lookAlikes = ['0OoQD', '1IlLi', '2Zz', '5Ss', '8B', '6Gb', '9gq', 'UuVv', 'nm', 'MN', 'CG', 'EF']

/**
 * Each text that is one error away, the likeliest errors first: neighbours in the wrong order, a wrong case or a look-alike, a
 * sign too many, a sign that is missing. `signs`: what can be missing. Texts of other lengths are left out.
 */
export function* nearTexts(
  text: string,
  signs: string,
  [least, most]: readonly [least: number, most: number],
): Generator<string> {
  const fits = (length: number) => length >= least && length <= most
  const at = (index: number, replaced: number, by: string) =>
    text.slice(0, index) + by + text.slice(index + replaced)
  if (fits(text.length)) {
    for (let index = 0; index + 1 < text.length; index++)
      if (text[index] !== text[index + 1]) yield at(index, 2, text[index + 1]! + text[index]!)
    for (let index = 0; index < text.length; index++)
      for (const other of othersOf(text[index]!)) yield at(index, 1, other)
  }
  if (fits(text.length - 1))
    for (let index = 0; index < text.length; index++)
      if (text[index] !== text[index - 1]) yield at(index, 1, '')
  if (!fits(text.length + 1)) return
  for (let index = 0; index <= text.length; index++)
    for (const sign of signs) if (sign !== text[index - 1]) yield at(index, 0, sign)
}

function othersOf(sign: string): Set<string> {
  const cases = [sign.toLowerCase(), sign.toUpperCase()].filter((each) => each.length === 1)
  const alike = lookAlikes.filter((each) => each.includes(sign)).join('')
  const others = new Set([...cases, ...alike])
  others.delete(sign)
  return others
}
