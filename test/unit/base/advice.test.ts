/** One error in the words of each interface. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adviceIn, advising, calls, inWordsOf, sayClientCall } from '../../../src/base/advice.ts'
import { FahaoError } from '../../../src/base/errors.ts'

const creating = (name: string) =>
  advising('NOGENERATOR', (say) => {
    const create = say({ operation: 'id.create', name, options: { kind: 'segment', step: 5 } })
    return `no generator '${name}'; create it with: ${create}`
  })
const raising = advising(
  'EXHAUSTED',
  (say) => `full; ${say({ operation: 'id.alter', name: 'order', options: { max: undefined } })}`,
)

test('a step is a command and a verb in the message, and a call in the words of a library', () => {
  assert.equal(
    creating('order').message,
    "no generator 'order'; create it with: ID.CREATE order KIND segment STEP 5 (or fahao create order --kind segment --step 5)",
  )
  assert.equal(raising.message, 'full; ID.ALTER order MAX N (or fahao alter order --max N)')
  const inLibrary = inWordsOf(calls('fahao.open'), creating('order')) as FahaoError
  assert.equal(inLibrary.code, 'NOGENERATOR')
  assert.match(inLibrary.message, /: fahao\.open\('order', \{ kind: 'segment', step: 5 \}\)$/)
  assert.equal(adviceIn(sayClientCall, raising), "full; client.alter('order', { max: N })")
  assert.match(adviceIn(sayClientCall, creating("it's"))!, /client\.generator\("it's", /)
})

test('an error without steps is the same in every word', () => {
  for (const error of [new FahaoError('DRY', 'retry'), new Error('x'), 'a text', undefined])
    assert.equal(inWordsOf(sayClientCall, error), error)
})
