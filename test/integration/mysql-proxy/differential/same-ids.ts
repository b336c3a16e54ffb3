/** Compares what the two sides did, ids apart. */
import { firstIds, idsPerTable, type SideName } from './stage.ts'

const number = /(?<![\da-fx])\d{10}(?![\da-f])/g

/** Each id of the one side stands for one id of the other, of the same table, in all lines that are compared. */
export class SameIds {
  readonly #proxied = new Map<string, string>()
  readonly #direct = new Map<string, string>()

  /** Whether the lines are the same but for ids. If they are, their ids belong together from now on. */
  compare(direct: string, proxied: string): boolean {
    if (!this.canBeSame(direct, proxied)) return false
    const [left, right] = [idsOf(direct, 'direct'), idsOf(proxied, 'proxied')]
    return left.every((id, at) => this.#match(id, right[at]!))
  }

  /** Whether the lines can be the same but for ids, as far as is known. */
  canBeSame(direct: string, proxied: string): boolean {
    if (withoutIds(direct, 'direct') !== withoutIds(proxied, 'proxied')) return false
    const [left, right] = [idsOf(direct, 'direct'), idsOf(proxied, 'proxied')]
    return left.every((id, at) => this.#mayMatch(id, right[at]!))
  }

  #mayMatch(direct: string, proxied: string): boolean {
    return this.#proxied.get(direct) === proxied || !(this.#proxied.has(direct) || this.#direct.has(proxied))
  }

  #match(direct: string, proxied: string): boolean {
    if (!this.#mayMatch(direct, proxied)) return false
    this.#proxied.set(direct, proxied)
    this.#direct.set(proxied, direct)
    return true
  }
}

function idsOf(line: string, side: SideName): string[] {
  return (line.match(number) ?? []).filter((text) => tableOf(text, side) !== undefined)
}

/** The line with the table's number in place of each id. */
export function withoutIds(line: string, side: SideName): string {
  return line.replace(number, (text) => {
    const table = tableOf(text, side)
    return table === undefined ? text : `‹id of table ${table}›`
  })
}

function tableOf(text: string, side: SideName): number | undefined {
  const table = Math.floor((Number(text) - firstIds[side] - 1) / idsPerTable)
  return table >= 0 && table < 20 ? table : undefined
}
