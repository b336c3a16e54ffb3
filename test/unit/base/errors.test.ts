import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { AssertionError, assert as invariant, unreachable } from '../../../src/base/assert.ts'
import { errorRegistry } from '../../../src/base/error-texts.ts'
import { describe as described, FahaoError, hasCode } from '../../../src/base/errors.ts'

describe('errors', () => {
  test('carry their code, status and retryability', () => {
    const cause = new Error('why')
    const error = new FahaoError('DRY', 'nothing is buffered; retry', { cause })
    assert.equal(error.code, 'DRY')
    assert.equal(error.status, 503)
    assert.equal(error.retryable, true)
    assert.equal(error.name, 'FahaoError')
    assert.equal(error.cause, cause)
    assert.equal(new FahaoError('EXHAUSTED', 'full').retryable, false)
  })

  test('are distinguished by their code', () => {
    assert.equal(hasCode(new FahaoError('DRY', 'x'), 'DRY'), true)
    assert.equal(hasCode(new FahaoError('DRY', 'x'), 'STALE'), false)
    assert.equal(hasCode(Object.assign(new Error('x'), { code: 'DRY' }), 'DRY'), false)
  })

  test('are of one class for every copy of it: fahao and fahao-client have one each', async () => {
    const other = '../../../src/base/errors.ts?another-copy'
    const copy = (await import(other)) as typeof import('../../../src/base/errors.ts')
    assert.notEqual(copy.FahaoError, FahaoError)
    class Special extends FahaoError {}
    class CopiedSpecial extends copy.FahaoError {}
    const [own, theirs] = [new Special('DRY', 'x'), new CopiedSpecial('DRY', 'x')]
    for (const error of [own, theirs, new FahaoError('DRY', 'x'), new copy.FahaoError('DRY', 'x')]) {
      assert.ok(error instanceof FahaoError && error instanceof copy.FahaoError)
      assert.ok(hasCode(error, 'DRY') && copy.hasCode(error, 'DRY'))
      assert.equal(described(error), 'DRY x')
    }
    assert.ok(own instanceof Special && !((own as Error) instanceof CopiedSpecial))
    assert.ok(theirs instanceof CopiedSpecial && !((theirs as Error) instanceof Special))
    for (const none of [new Error('x'), { code: 'DRY', message: 'x' }, undefined, null, 'DRY', 7])
      assert.ok(!(none instanceof FahaoError))
  })

  test('do not show the message for other readers where they are printed whole', () => {
    const error = new FahaoError('QUOTA', 'a namespace is full', {
      fuller: { pattern: 'order*', message: "namespace 'secret' is full" },
    })
    assert.equal(
      error.messageFor(() => true),
      "namespace 'secret' is full",
    )
    for (const printed of [inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error)])
      assert.doesNotMatch(printed, /secret|order|fuller/)
  })

  test('have the message for their reader, and are the same otherwise', () => {
    const error = new FahaoError('QUOTA', 'a namespace is full', {
      fuller: { pattern: 'order*', message: "namespace 'shop' is full" },
      retryAfterMs: 5,
    })
    const told = error.forReader((pattern) => pattern === 'order*')
    assert.deepEqual([told.code, told.message, told.retryAfterMs], ['QUOTA', "namespace 'shop' is full", 5])
    const refused = error.forReader(() => false)
    assert.equal(refused, error)
  })

  test('are described in one line, for any thrown value', () => {
    assert.equal(described(new FahaoError('DRY', 'retry')), 'DRY retry')
    assert.equal(described(new Error('plain')), 'plain')
    assert.equal(described('text'), 'text')
  })

  test('have a code in capitals, a status, a meaning and a remedy', () => {
    for (const [code, { status, meaning, remedy }] of Object.entries(errorRegistry)) {
      assert.match(code, /^[A-Z]+$/)
      assert.ok(status >= 400 && status < 600)
      assert.match(meaning, /\.$/)
      assert.match(remedy, /\.$/)
    }
  })

  test('differ from broken invariants, which only a bug causes', () => {
    assert.doesNotThrow(() => invariant(true, 'holds'))
    assert.throws(() => invariant(false, 'broken'), AssertionError)
    assert.throws(() => unreachable('x' as never), /unreachable: x/)
  })
})
