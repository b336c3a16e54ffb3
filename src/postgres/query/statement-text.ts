/** What the text of a statement says beside its tree. */
import { refused } from './tree.ts'

const tokens =
  /e'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}_][\p{L}\w$]*|\$?(\d[\w.]*)/giu

/** Throws 0A000 for a number that the parser, PostgreSQL 18's, reads and PostgreSQL 15 does not: `1_000`, `0x1F`, `0o7`, `0b1`. */
export function demandOldNumbers(text: string): void {
  if (!/\d_\d|0[xob]/i.test(text)) return
  for (const [token, , number] of text.matchAll(tokens)) {
    const isNew = number !== undefined && /_|^0[xob]/i.test(number)
    if (isNew || token.lastIndexOf('/*') > 0) throw refused(`The number or comment ${token.slice(0, 60)}`)
  }
}

/** The position of an error in characters from 1, of one in bytes. */
export function positionIn(text: string, position: number): number {
  if (text === '') return position
  return Array.from(Buffer.from(text).toString('utf8', 0, position - 1)).length + 1
}
