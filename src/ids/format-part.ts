/** The parts of a format: text, the id, the node, the check digit. The date has a file of its own. */

import { FahaoError } from '../base/errors.ts'
import { type CheckName, checkDigits } from './check-digit.ts'
import { max63 } from './limits.ts'
import { fromDigits, type Radix, toDigits } from './radix.ts'

/** The values that a format may show beside the id. */
export type FormatValues = {
  /** The node's index; `needsNode` tells whether it is wanted. */
  readonly node?: number | undefined
  /** The moment to show, in Unix µs; `needsTime` tells whether it is wanted. */
  readonly unixUs?: number | undefined
}

/** One part of a format. All but the id have a fixed width, which is why every format can be read back. */
export interface FormatPart {
  /** Characters (UTF-16 units); undefined for an id of free width. */
  readonly width: number | undefined
  /** @param before the text of the parts before this one. */
  write(id: bigint, values: FormatValues, before: string): string
  /** Throws ERR unless `text` can be what this part writes. */
  check(text: string, before: string): void
}

/** Fixed text. */
export class LiteralPart implements FormatPart {
  readonly width: number
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    this.width = text.length
  }

  write(): string {
    return this.#text
  }

  check(text: string): void {
    if (text !== this.#text) throw foreign(`'${shown(text)}' stands where '${shown(this.#text)}' belongs`)
  }
}

/** The id itself. */
export class IdPart implements FormatPart {
  readonly width: number | undefined
  readonly radix: Radix
  /** The largest id that fits. */
  readonly maxId: bigint

  constructor(width: number | undefined, radix: Radix) {
    this.width = width
    this.radix = radix
    const fits = width === undefined ? max63 : BigInt(radix) ** BigInt(width) - 1n
    this.maxId = fits < max63 ? fits : max63
  }

  write(id: bigint): string {
    if (id < 0n) throw new FahaoError('ERR', `id ${id} is negative; ids are 0 or more`)
    if (id > this.maxId) {
      throw new FahaoError(
        'EXHAUSTED',
        `id ${id} is wider than its format allows; the largest is ${this.maxId}`,
      )
    }
    const text = toDigits(id, this.radix)
    return this.width === undefined ? text : text.padStart(this.width, '0')
  }

  check(text: string): void {
    this.read(text)
  }

  /** The id that the digits mean. Throws ERR. */
  read(text: string): bigint {
    const id = text === '' || text.length > 64 ? undefined : fromDigits(text, this.radix)
    if (id === undefined || id > this.maxId) {
      throw foreign(`'${shown(text)}' is no id of radix ${this.radix} up to ${this.maxId}`)
    }
    if (this.width === undefined && text !== toDigits(id, this.radix)) {
      throw foreign(`'${shown(text)}' has zeros in front`)
    }
    return id
  }
}

/** The node's index, padded to a fixed width. */
export class NodePart implements FormatPart {
  readonly width: number

  constructor(width: number) {
    this.width = width
  }

  write(_id: bigint, { node }: FormatValues): string {
    if (node === undefined) {
      throw new FahaoError('ERR', 'the format shows the node, and this node has no index; give --node-index')
    }
    if (!Number.isSafeInteger(node) || node < 0 || node >= 10 ** this.width) {
      throw new FahaoError(
        'ERR',
        `node ${node} does not fit ${this.width} digits; write {node:N} with a larger N`,
      )
    }
    return String(node).padStart(this.width, '0')
  }

  check(text: string): void {
    if (!/^\d+$/.test(text)) throw foreign(`'${shown(text)}' is no node`)
  }
}

/** A check digit over all characters 0–9 before it. */
export class CheckPart implements FormatPart {
  readonly width = 1
  readonly #digit: (text: string) => number

  constructor(name: CheckName) {
    this.#digit = checkDigits[name]
  }

  write(_id: bigint, _values: FormatValues, before: string): string {
    return String(this.#digit(before))
  }

  check(text: string, before: string): void {
    if (text !== String(this.#digit(before))) throw foreign(`the check digit '${shown(text)}' is wrong`)
  }
}

/** The error of `parse`: this text was not written by the format. */
export function foreign(reason: string): FahaoError {
  return new FahaoError('ERR', `the text was not written by this format: ${reason}; check what was typed`)
}

/** Foreign text for a message: short, and on one line. */
export function shown(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return short.replace(/\p{C}/gu, '?')
}
