/** Rows from texts (`written-rows.ts`), with values of a session or a sequence in them. */
import { oids, type Relation, typeOf } from './types.ts'
import { unknownHere, type Value } from './values.ts'

/** The values of `$name`. */
export type Facts = Readonly<Record<string, Value>>

type Field = (facts: Facts) => Value

/** Rows that are read, to be made of facts. */
export type Template = (facts: Facts) => Value[][]

/** Reads the rows of a relation. */
export function templateOf(relation: Relation, text: string): Template {
  const [head = '', ...lines] = text.split('\n')
  const names = head.split('|')
  const makers = lines.map((line) => {
    const fields = line.trim().split('|')
    return relation.columns.map(({ name, type, notNull }): Field => {
      const field = fields[names.indexOf(name)]
      if (field !== undefined && field !== '~') return fieldOf(field, type)
      const value = field === undefined && notNull ? emptyOf(type) : null
      const constant = field === undefined && names.includes('*') ? unknownHere : value
      return () => constant
    })
  })
  return (facts) => makers.map((fields) => fields.map((field) => field(facts)))
}

function fieldOf(text: string, type: number): Field {
  const [, whole] = /^\$(\w+)$/.exec(text) ?? []
  const isText = typeOf(type)?.category === 'S' || typeOf(type)?.category === 'D'
  if (whole !== undefined)
    return (facts) => (isText && facts[whole] !== null ? String(facts[whole]) : facts[whole]!)
  if (text.includes('$'))
    return (facts) =>
      valueIn(
        text.replace(/\$(\w+)/g, (_, name: string) => String(facts[name])),
        type,
      )
  const value = valueIn(text, type)
  return () => value
}

function valueIn(text: string, type: number): Value {
  const category = typeOf(type)?.category
  if (type === oids.bool) return text === 't'
  if (category === 'A') return text.slice(1, -1).split(',')
  return category === 'N' || type === oids.xid ? Number(text) : text
}

/** What a column has that may not be null and has no value. */
function emptyOf(type: number): Value {
  const category = typeOf(type)?.category
  if (type === oids.bool) return false
  if (type === oids.int8) return 0n
  if (category === 'A') return []
  return category === 'N' || type === oids.xid ? 0 : ''
}
