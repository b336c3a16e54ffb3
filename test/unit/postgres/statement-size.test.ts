import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compile } from '../../../src/postgres/compile.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const many = (text: string, count: number) => text.repeat(count)

/** Statements of each kind, and those that take the most for a word, a column or a character. */
const texts: readonly string[] = [
  "SELECT nextval('order')",
  `SELECT ${many("nextval('order'),", 400)}lastval()`,
  'BEGIN',
  `DROP SEQUENCE ${many('a,', 400)}a`,
  'SELECT',
  'SELECT 1',
  'SELECT * FROM pg_class',
  `SELECT FROM (SELECT * FROM pg_class${many(' UNION SELECT * FROM pg_class', 20)}) a`,
  `SELECT ${many('(SELECT 1),', 400)}1`,
  `SELECT ${many('(SELECT 1 FROM pg_class),', 400)}1`,
  `SELECT 1 FROM pg_class WHERE oid IN (${many('2,', 1000)}3)`,
  `WITH ${Array.from({ length: 300 }, (_, at) => `a${at} AS (SELECT 1)`).join()} SELECT 1`,
  `SELECT '{${many('1,', 4000)}1}'::int8[]`,
  `SELECT '{${many('a,', 4000)}1}'::text[]`,
  `SELECT '${many('x', 20_000)}'`,
  'PREPARE a AS SELECT * FROM pg_class',
  'DECLARE a CURSOR FOR SELECT * FROM pg_class',
  `${many('SELECT 1;', 100)}${many('BEGIN;', 100)}`,
]

/** How much memory the compiled form of a text takes, in bytes. */
function measured(text: string): number {
  const count = 3 + Math.ceil(3000 / text.length)
  const held: unknown[] = []
  collectGarbage()
  const before = process.memoryUsage()
  for (let index = 0; index < count; index++) held.push(compile(Buffer.from(text).toString()))
  collectGarbage()
  const after = process.memoryUsage()
  assert.equal(held.length, count)
  return (after.heapUsed - before.heapUsed + after.external - before.external) / count
}

for (const text of texts)
  test(`counts at least what it takes: ${text.slice(0, 50)}`, () => {
    const counted = compile(text).reduce((sum, { heldBytes = 0 }) => sum + heldBytes, 0)
    let bytes = Number.POSITIVE_INFINITY
    // The first rounds take memory for the code too.
    for (let round = 0; round < 5 && bytes > counted; round++) bytes = Math.min(bytes, measured(text))
    assert.ok(bytes <= counted, `${bytes} bytes, and ${counted} are counted`)
  })
