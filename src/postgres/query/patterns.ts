/** LIKE, and those regular expressions that mean the same in PostgreSQL and in JavaScript. */
import { SqlError } from '../sql-error.ts'
import { refused } from './tree.ts'

/** `%` and `_`. */
const [any, one] = [/%/, /_/]

const special = /[\\^$.*+?()[\]{}|/]/

/** LIKE: a backslash takes the meaning of the sign behind it. Throws 22025. */
export function isLike(text: string, pattern: string, spend: (count: number) => void): boolean {
  const signs = Array.from(text)
  const wanted: (string | RegExp)[] = []
  const all = Array.from(pattern)
  for (let index = 0; index < all.length; index++) {
    const sign = all[index]!
    if (sign === '\\' && index + 1 === all.length)
      throw new SqlError('22025', 'LIKE pattern must not end with escape character')
    wanted.push(sign === '%' ? any : sign === '_' ? one : sign === '\\' ? all[++index]! : sign)
  }
  spend(signs.length + wanted.length)
  // Behind the last `%`, and where what follows it was tried last: no earlier one needs to be tried again.
  let [at, next, behind, tried] = [0, 0, -1, 0]
  while (at < signs.length) {
    if (wanted[next] === any) [behind, tried] = [++next, at]
    else if (wanted[next] === one || wanted[next] === signs[at]) [at, next] = [at + 1, next + 1]
    else if (behind < 0) return false
    else {
      spend(1 + next - behind)
      ;[at, next] = [++tried, behind]
    }
  }
  while (wanted[next] === any) next++
  return next === wanted.length
}

/** like_escape: a pattern with another escape, as LIKE reads it. Throws 22019. */
export function escapedLike(pattern: string, mark: string): string {
  if (Array.from(mark).length > 1) throw new SqlError('22019', 'invalid escape string')
  if (mark === '\\') return pattern
  const signs = Array.from(pattern)
  let result = ''
  for (let index = 0; index < signs.length; index++) {
    const sign = signs[index]!
    if (sign === mark) result += `\\${signs[++index] ?? ''}`
    else result += sign === '\\' ? '\\\\' : sign
  }
  return result
}

/**
 * Signs, groups, alternatives, `.`, `*`, `+`, `?`, `^`, `$`, plain classes, and a backslash before a sign that is no letter: a
 * match of these is a match in both languages.
 */
const plain =
  /^(?:[^\\^$.*+?()[\]{}|]|\\[^\p{L}\p{N}]|\.|\(|\)|\||\^|\$|\[\^?[\p{L}\p{N}_:@,/ ](?:[\p{L}\p{N}_:@,/ ]|-[a-z0-9])*\]|[*+?])*$/u
/**
 * Two quantifiers, one behind nothing, or an empty alternative, which PostgreSQL reads in a way of its own; and one behind a
 * group, which may take JavaScript for ever.
 */
const odd = /[*+?]{2}|(?:^|[(|^$)])[*+?]|\(\)|\|\||\(\||\|\)|^\||\|$|^\*\*\*|\[[^\]]*(?:\[|\d-[a-z])/

const waysMax = 10_000_000

/** Whether a text matches a regular expression somewhere. Throws 0A000 for one whose meaning is not sure. */
export function matches(text: string, pattern: string, spend: (count: number) => void): boolean {
  // The most ways that there are to try.
  const ways = text.length ** (pattern.match(/[*+?]/g)?.length ?? 1)
  if (ways > waysMax) throw refused('A regular expression with several quantifiers for a long text')
  spend(ways >> 6)
  if (odd.test(pattern.replace(/\\./g, 'x')) || !plain.test(pattern))
    throw refused(`The regular expression "${pattern}"`)
  const source = pattern.replace(/\\(.)/gsu, (escaped, sign) => (special.test(sign) ? escaped : sign))
  try {
    return new RegExp(source, 'us').test(text)
  } catch {
    throw refused(`The regular expression "${pattern}"`)
  }
}
