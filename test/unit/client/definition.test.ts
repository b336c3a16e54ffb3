/** What a client makes of the description of a generator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definitionOf } from '../../../client/src/definition.ts'
import { define, definitionJson } from '../../../src/catalogue/definition.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/generator-options.ts'

const described = (options: GeneratorInput) => {
  const definition = definitionJson(define(parseOptions(options), 1.8e15))
  const code = { format: undefined, orders: undefined, clock: undefined }
  return definitionOf({ kind: options.kind, incarnation: '1', definition, ...code })
}

test('blocks are asked of generators alone whose every id is one larger than the id before it', () => {
  const contiguous = [{ kind: 'sequence' }, { kind: 'segment' }] as const
  const others = [
    { kind: 'sequence', gene: 10 },
    { kind: 'segment', gene: 1 },
    { kind: 'segment', avoid: '13', format: '{id:8}' },
    { kind: 'sequence', increment: 2 },
    { kind: 'segment', increment: '1..9' },
    { kind: 'segment', within: 'shuffled' },
    { kind: 'segment', scramble: true },
    { kind: 'snowflake' },
  ] as const
  for (const options of contiguous) assert.equal(described(options).isContiguous, true)
  for (const options of others) assert.equal(described(options).isContiguous, false, JSON.stringify(options))
})

test('a definition with a list of words is another one', () => {
  const identity = (avoid?: string) =>
    described({ kind: 'segment', format: '{id:8}', ...(avoid !== undefined && { avoid }) }).identity
  assert.notEqual(identity(), identity('13'))
  assert.notEqual(identity('13'), identity('13,666'))
})
