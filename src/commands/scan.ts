/**
 * SCAN over names in byte order.
 *
 * Redis's cursors are unsigned 64-bit integers, names are not: a cursor is a hash of the last name of its page.
 *
 * Invariants
 *  1. A name that is there from the start of a scan to its end is returned exactly once.
 *  2. A call looks at COUNT names that the user may name, at most `pageMax`, however few of them match.
 *  3. The newest `rememberedMax` cursors are kept. Any other one (older, from before a restart, from another node) is
 *     found by reading the names from the start. If its name has been dropped as well, the scan is refused and has to
 *     begin again.
 *  4. A cursor stands for a name that the user may name. No cursor that a call returns or accepts tells whether any other
 *     name exists, nor how many there are.
 */
import { FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { isServedHere } from './cluster-table.ts'
import type { Reply } from './command.ts'
import type { CommandContext } from './context.ts'
import { everyGenerator } from './generator-names.ts'

const pageDefault = 10
const pageMax = 1000
const rememberedMax = 1000

/** The cursors of one server. */
export class Scan {
  readonly #lastNames = new Map<string, string>()

  /** `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`. */
  async page(context: CommandContext, args: Arguments): Promise<Reply> {
    const cursor = args.text(0)
    if (!/^\d{1,20}$/.test(cursor)) throw invalidCursor()
    const { count, pattern } = scanOptions(args)
    const matches = pattern === undefined ? () => false : globMatcher(pattern)
    const after = BigInt(cursor) === 0n ? undefined : await this.#nameOf(cursor, context)
    const names = await namesAfter(context, after, count)
    const next = names.length < count ? '0' : this.#remember(names.at(-1)!)
    const isOwn = isServedHere(context)
    return [next, names.filter((name) => matches(name) && isOwn(name))]
  }

  #remember(name: string): string {
    const cursor = cursorOf(name)
    this.#lastNames.delete(cursor)
    this.#lastNames.set(cursor, name)
    if (this.#lastNames.size > rememberedMax) this.#lastNames.delete(this.#lastNames.keys().next().value!)
    return cursor
  }

  async #nameOf(cursor: string, context: CommandContext): Promise<string> {
    const known = this.#lastNames.get(cursor)
    if (known !== undefined && context.session.access.reaches(known)) return known
    for await (const part of everyGenerator(context)) {
      const found = part.find(({ name }) => cursorOf(name) === cursor)
      if (found !== undefined) return found.name
    }
    throw invalidCursor()
  }
}

/** The first `count` names after `after` that the user may name. */
async function namesAfter(
  context: CommandContext,
  after: string | undefined,
  count: number,
): Promise<string[]> {
  const names: string[] = []
  for await (const part of everyGenerator(context, { after })) {
    for (const { name } of part) names.push(name)
    if (names.length >= count) break
  }
  return names.slice(0, count)
}

/** `pattern`: undefined if no name can match. */
function scanOptions(args: Arguments): { count: number; pattern: string | undefined } {
  let count = pageDefault
  let pattern = '*'
  let typed = true
  for (const [token, value] of args.options(1)) {
    if (token === 'MATCH') pattern = args.pattern(value)
    else if (token === 'COUNT') count = pageSize(args.integer(value))
    else if (token === 'TYPE') typed = args.token(value) === 'STRING'
    else throw syntaxError()
  }
  return { count, pattern: typed ? pattern : undefined }
}

function pageSize(asked: bigint): number {
  if (asked < 1n) throw syntaxError()
  return asked > pageMax ? pageMax : Number(asked)
}

function invalidCursor(): FahaoError {
  return new FahaoError('ERR', 'invalid cursor: begin again with SCAN 0')
}

/** 53 bits of a hash (bryc's cyrb53), so that even a JavaScript number holds the cursor; never 0. */
function cursorOf(name: string): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return String(0x1_0000_0000 * (low & 0x1f_ffff) + (high >>> 0) || 1)
}
