/** Functions of texts, arrays and JSON (PostgreSQL's manual, chapters 9.4, 9.16 and 9.19). */

import type { Run } from './analysed.ts'
import { toTextConverter } from './coercion.ts'
import type { Functions } from './function-table.ts'
import { power } from './numeric.ts'
import { joined } from './operators.ts'
import { escapedLike } from './patterns.ts'
import { quoteIdentifier } from './quoting.ts'
import { itemType, lowerBound } from './text-output.ts'
import { refused } from './tree.ts'
import { oids } from './types.ts'
import type { Value } from './values.ts'

type List = readonly Value[]

function arrayToString(run: Run, list: List, type: number, delimiter: string): string {
  if (itemType(type) === oids.bool) throw refused('array_to_string of boolean')
  const show = toTextConverter(itemType(type))
  const texts = list.filter((item) => item !== null).map((item) => show(item, run.objects) as string)
  return joined(run, texts, delimiter)
}

function series(run: Run, from: bigint, to: bigint, wrap: (value: bigint) => Value): Value[] {
  const values: Value[] = []
  if (to >= from) run.keep(Number(to - from) + 1)
  for (let value = from; value <= to; value++) values.push(wrap(value))
  return values
}

const asText = (value: Value) => value as string

/** Functions of texts, arrays and JSON. */
export const textFunctions: Functions = {
  // Letters beyond ASCII stay as they are in the locale C.
  'lower(text) text': (_, [text]) => asText(text!).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  'replace(text,text,text) text': (run, [text, from, to]) =>
    from === '' ? text! : joined(run, asText(text!).split(asText(from!)), asText(to!)),
  'like_escape(text,text) text': (_, [pattern, sign]) => escapedLike(asText(pattern!), asText(sign!)),
  'power(numeric,numeric)= numeric': (_, [base, exponent]) => power(asText(base!), asText(exponent!)),
  'quote_ident(text) text': (_, [text]) => quoteIdentifier(asText(text!)),
  'array_upper(anyarray,int4) int4': (_, [list, dimension], [type]) => {
    const { length } = list as List
    return dimension === 1 && length > 0 ? length - 1 + lowerBound(type!) : null
  },
  'array_to_string(anyarray,text) text': (run, [list, delimiter], [type]) =>
    arrayToString(run, list as List, type!, asText(delimiter!)),
  'setof generate_series(int4,int4)= int4': (run, [from, to]) =>
    series(run, BigInt(from as number), BigInt(to as number), Number),
  'setof generate_series(int8,int8)= int8': (run, [from, to]) =>
    series(run, from as bigint, to as bigint, (value) => value),
  'setof unnest(anyarray) anyelement': (run, [list]) => {
    run.keep((list as List).length)
    return list!
  },
}
