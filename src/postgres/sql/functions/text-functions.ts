/** Functions of texts and numbers (PostgreSQL's manual, chapters 9.3 and 9.4). */
import { createHash } from 'node:crypto'
import { joined } from '../costs.ts'
import { calculate, raiseDecimal, roundDecimal } from '../decimals.ts'
import { define, type FunctionDefinition, type Implementation } from '../function-table.ts'
import { replacePattern } from '../patterns.ts'
import type { Context } from '../plan.ts'
import { quoteIdentifier } from '../quoting.ts'
import { indexIn, splitBy } from '../search.ts'
import { SqlError } from '../sql-error.ts'
import { textOfValue } from '../text-output.ts'
import { oids } from '../types.ts'
import type { Value } from '../values.ts'

const onText =
  (change: (text: string) => Value): Implementation =>
  (_, [text]) =>
    change(text as string)

/** The texts of the arguments from the first one on that are not null, each made when it is asked for. */
function* shown(
  { objects }: Context,
  args: readonly Value[],
  types: readonly number[],
  first = 0,
): Iterable<string> {
  for (let index = first; index < args.length; index++) {
    const arg = args[index]!
    if (arg !== null) yield textOfValue(arg, types[index] ?? oids.text, objects)
  }
}

function substring(text: string, start: number, length?: number): string {
  const chars = Array.from(text)
  if (length !== undefined && length < 0) throw new SqlError('22011', 'negative substring length not allowed')
  const end = length === undefined ? chars.length : start - 1 + length
  return chars.slice(Math.max(0, start - 1), Math.max(0, end)).join('')
}

function trim(text: string, chars: string, ends: 'both' | 'left' | 'right'): string {
  const trimmed = new Set(chars.split(''))
  let [from, to] = [0, text.length]
  if (ends !== 'right') while (from < to && trimmed.has(text[from]!)) from++
  if (ends !== 'left') while (to > from && trimmed.has(text[to - 1]!)) to--
  return text.slice(from, to)
}

function pad(context: Context, text: string, length: number, fill: string, isLeft: boolean): string {
  context.budget.demand(Math.max(0, length))
  if (text.length >= length) return text.slice(0, Math.max(0, length))
  return isLeft ? text.padStart(length, fill) : text.padEnd(length, fill)
}

function splitPart(text: string, delimiter: string, field: number): string {
  if (field === 0) throw new SqlError('22023', 'field position must not be zero')
  const parts = delimiter === '' ? [text] : splitBy(text, delimiter)
  return parts.at(field > 0 ? field - 1 : field) ?? ''
}

function slice(text: string, count: number, isLeft: boolean): string {
  const chars = Array.from(text)
  if (isLeft) return chars.slice(0, count).join('')
  return (count >= 0 ? chars.slice(Math.max(0, chars.length - count)) : chars.slice(-count)).join('')
}

function quoteLiteral(text: string): string {
  const quoted = text.replaceAll("'", "''")
  return text.includes('\\') ? ` E'${quoted.replaceAll('\\', '\\\\')}'`.trimStart() : `'${quoted}'`
}

function absolute(value: Value): Value {
  if (typeof value === 'string') return value.replace(/^-/, '')
  if (typeof value === 'bigint') return value < 0n ? -value : value
  return Math.abs(value as number)
}

const numbers = ['int2', 'int4', 'int8', 'numeric', 'float8']

/** Functions of texts and numbers. */
export const textFunctions: readonly FunctionDefinition[] = [
  define(
    'upper(text) text',
    onText((text) => text.toUpperCase()),
  ),
  define(
    'lower(text) text',
    onText((text) => text.toLowerCase()),
  ),
  define(
    'initcap(text) text',
    onText((text) =>
      text.toLowerCase().replace(/[a-z0-9]+/g, (word) => word[0]!.toUpperCase() + word.slice(1)),
    ),
  ),
  define(
    'length(text) int4',
    onText((text) => Array.from(text).length),
  ),
  define(
    'char_length(text) int4',
    onText((text) => Array.from(text).length),
  ),
  define(
    'character_length(text) int4',
    onText((text) => Array.from(text).length),
  ),
  define(
    'octet_length(text) int4',
    onText((text) => Buffer.byteLength(text)),
  ),
  define(
    'reverse(text) text',
    onText((text) => Array.from(text).reverse().join('')),
  ),
  define(
    'md5(text) text',
    onText((text) => createHash('md5').update(text).digest('hex')),
  ),
  define(
    'ascii(text) int4',
    onText((text) => text.codePointAt(0) ?? 0),
  ),
  define('quote_ident(text) text', onText(quoteIdentifier)),
  define('quote_literal(text) text', onText(quoteLiteral)),
  define('quote_literal(anyelement) text', (context, args, types) =>
    quoteLiteral(textOfValue(args[0]!, types[0]!, context.objects)),
  ),
  define('quote_nullable(text)? text', (_, [text]) =>
    text === null ? 'NULL' : quoteLiteral(text as string),
  ),
  define('substring(text,int4) text', (_, [text, start]) => substring(text as string, start as number)),
  define('substring(text,int4,int4) text', (_, [text, start, length]) =>
    substring(text as string, start as number, length as number),
  ),
  define('substr(text,int4) text', (_, [text, start]) => substring(text as string, start as number)),
  define('substr(text,int4,int4) text', (_, [text, start, length]) =>
    substring(text as string, start as number, length as number),
  ),
  define('replace(text,text,text) text', (context, [text, from, to]) =>
    from === '' ? text! : replaceAll(context, text as string, from as string, to as string),
  ),
  define('translate(text,text,text) text', (_, [text, from, to]) =>
    translate(text as string, from as string, to as string),
  ),
  define('strpos(text,text) int4', (_, [text, part]) => indexIn(text as string, part as string) + 1),
  define('position(text,text) int4', (_, [text, part]) => indexIn(text as string, part as string) + 1),
  define('starts_with(text,text) bool', (_, [text, part]) => (text as string).startsWith(part as string)),
  define('split_part(text,text,int4) text', (_, [text, delimiter, field]) =>
    splitPart(text as string, delimiter as string, field as number),
  ),
  define('left(text,int4) text', (_, [text, count]) => slice(text as string, count as number, true)),
  define('right(text,int4) text', (_, [text, count]) => slice(text as string, count as number, false)),
  define('repeat(text,int4) text', (context, [text, count]) => {
    context.budget.demand((text as string).length * Math.max(0, count as number))
    return (text as string).repeat(Math.max(0, count as number))
  }),
  define('lpad(text,int4) text', (context, [text, length]) =>
    pad(context, text as string, length as number, ' ', true),
  ),
  define('lpad(text,int4,text) text', (context, [text, length, fill]) =>
    pad(context, text as string, length as number, fill as string, true),
  ),
  define('rpad(text,int4) text', (context, [text, length]) =>
    pad(context, text as string, length as number, ' ', false),
  ),
  define('rpad(text,int4,text) text', (context, [text, length, fill]) =>
    pad(context, text as string, length as number, fill as string, false),
  ),
  ...(['btrim', 'ltrim', 'rtrim'] as const).flatMap((name) => {
    const ends = name === 'btrim' ? 'both' : name === 'ltrim' ? 'left' : 'right'
    return [
      define(`${name}(text) text`, (_, [text]) => trim(text as string, ' ', ends)),
      define(`${name}(text,text) text`, (_, [text, chars]) => trim(text as string, chars as string, ends)),
    ]
  }),
  define('regexp_replace(text,text,text) text', (context, [text, pattern, to]) =>
    replacePattern(text as string, pattern as string, to as string, '', context.budget),
  ),
  define('regexp_replace(text,text,text,text) text', (context, [text, pattern, to, flags]) =>
    replacePattern(text as string, pattern as string, to as string, flags as string, context.budget),
  ),
  define('concat(any…)? text', (context, args, types) => joined(context, shown(context, args, types))),
  define('concat_ws(text,any…)? text', (context, args, types) =>
    args[0] === null ? null : joined(context, shown(context, args, types, 1), args[0] as string),
  ),
  ...numbers.map((type) => define(`abs(${type}) ${type}`, (_, [value]) => absolute(value!))),
  define('mod(int4,int4) int4', (_, [left, right]) => (left as number) % nonZero(right!)),
  define('mod(int8,int8) int8', (_, [left, right]) => (left as bigint) % BigInt(nonZero(right!))),
  define('floor(float8) float8', (_, [value]) => Math.floor(value as number)),
  define('ceil(float8) float8', (_, [value]) => Math.ceil(value as number)),
  define('round(float8) float8', (_, [value]) => Math.round(value as number)),
  define('round(numeric) numeric', (_, [value]) => String(roundDecimal(value as string))),
  define('power(numeric,numeric) numeric', (_, [base, exponent]) =>
    raiseDecimal(base as string, exponent as string),
  ),
  define('sign(numeric) numeric', (_, [value]) => calculate('*', '1', String(Math.sign(Number(value))))),
]

/** Of a character that stands in `from` twice, the first one counts. */
function translate(text: string, from: string, to: string): string {
  const results = Array.from(to)
  const changes = new Map<string, string>()
  for (const [index, char] of Array.from(from).entries())
    if (!changes.has(char)) changes.set(char, results[index] ?? '')
  return Array.from(text, (char) => changes.get(char) ?? char).join('')
}

function replaceAll(context: Context, text: string, from: string, to: string): string {
  const parts = splitBy(text, from)
  context.budget.demand(text.length + parts.length * to.length)
  return parts.join(to)
}

function nonZero(value: Value): number {
  if (Number(value) === 0) throw new SqlError('22012', 'division by zero')
  return Number(value)
}
