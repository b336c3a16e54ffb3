/** Values for a JSON schema of the OpenAPI document: valid ones, nearly valid ones, and hostile ones. */
import fc from 'fast-check'

/** The part of a schema that is read here. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

/** The named schemas of the document. */
export type Schemas = Readonly<Record<string, Schema>>

/** Numbers at the ends of what programs count with. */
const edges = [
  ...[
    -1,
    0,
    1,
    2,
    999,
    1000,
    1001,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    1e21,
    1.5,
    Number.MAX_SAFE_INTEGER,
    2 ** 53,
  ].map(String),
  ...[
    '9223372036854775807',
    '9223372036854775808',
    '18446744073709551616',
    '-9223372036854775809',
    '1e400',
    '-0',
  ],
  ...[
    '01',
    '+1',
    '1_000',
    '0x10',
    '１',
    'NaN',
    'Infinity',
    '1'.repeat(400),
    '1000000000000',
    '1000000000001',
  ],
]

/** Text that programs stumble over. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...edges),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\n',
    '\r\nx: y',
    '..',
    '.',
    '/',
    '%',
    '%00',
    '*',
    '[',
    'a'.repeat(257),
    'é'.repeat(129),
  ),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '$ref', 'then'),
  fc.constantFrom(
    '{id}',
    '{id:999999999}',
    '\u202e',
    '\ufeff',
    '\ud800',
    'ﷺ',
    '𝟙',
    "' OR 1=1 --",
    '<script>',
    '$x',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 20 }),
)

/** Any JSON value, from those that programs stumble over. */
const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom<unknown>(null, true, false, [], {}, -1, 0, 0.5, 2 ** 53, 2 ** 63, -(2 ** 63), 1e308),
  fc.jsonValue(),
)

/** Values that the schema allows, and some that differ from it in one place. */
export function valuesOf(schema: Schema, schemas: Schemas): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: validOf(schema, schemas) }, { weight: 1, arbitrary: hostileValue })
}

function validOf(schema: Schema, schemas: Schemas): fc.Arbitrary<unknown> {
  const { $ref, const: constant, enum: words, anyOf, oneOf, type } = schema
  if ($ref !== undefined) return valuesOf(schemas[$ref.split('/').at(-1)!]!, schemas)
  if (constant !== undefined) return fc.constant(constant)
  if (words !== undefined) return fc.constantFrom(...words)
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return fc.oneof(...choices.map((each) => valuesOf(each, schemas)))
  switch (type) {
    case 'boolean':
      return fc.boolean()
    case 'integer':
    case 'number':
      return numberOf(schema)
    case 'string':
      return schema.pattern === undefined ? stringValue : fc.stringMatching(new RegExp(schema.pattern))
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}, schemas), { maxLength: 3 })
    case 'object':
      return objectOf(schema, schemas)
    default:
      return hostileValue
  }
}

const stringValue = fc.oneof(
  fc.constantFrom(
    '1',
    '10',
    '1000',
    'on',
    'off',
    '5s',
    'utc',
    'twitter',
    'leaf',
    'scratch*',
    'x_{id}',
    '2024-01-01',
  ),
  hostileText,
)

function numberOf({
  minimum = -1000,
  maximum = 2 ** 53 - 1,
  exclusiveMinimum = minimum,
}: Schema): fc.Arbitrary<number> {
  const min = Math.ceil(Math.max(minimum, exclusiveMinimum))
  const small = fc.integer({ min, max: Math.max(min, Math.min(maximum, min + 50)) })
  return fc.oneof(small, fc.constantFrom(min, min - 1, maximum, maximum + 1))
}

function objectOf({ properties = {}, required = [] }: Schema, schemas: Schemas): fc.Arbitrary<unknown> {
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, valuesOf(each, schemas)]),
  )
  const complete = fc.record(model, { requiredKeys: [...required] })
  // Most options exclude others: few at a time are more often valid.
  const few = fc
    .tuple(
      complete,
      fc.shuffledSubarray(Object.keys(properties)).map((names) => names.slice(0, 3)),
    )
    .map(([all, names]) => {
      const kept = new Set([...required, ...names])
      return Object.fromEntries(Object.entries(all).filter(([name]) => kept.has(name)))
    })
  const unknown = fc
    .tuple(few, hostileText, hostileValue)
    .map(([known, name, value]) => ({ ...known, [name]: value }))
  return fc.oneof(
    { weight: 8, arbitrary: few },
    { weight: 2, arbitrary: complete },
    { weight: 1, arbitrary: unknown },
  )
}
