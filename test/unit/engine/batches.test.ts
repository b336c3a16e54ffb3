import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Batches, type BatchesOptions } from '../../../src/engine/batches.ts'
import { settled } from '../fake-clock.ts'

/** Each call is a word, and its first letter is its key. A call with a capital letter needs a batch of its own. */
function start(options: Partial<BatchesOptions<string>> = {}) {
  const sent: string[] = []
  const answers: (() => void)[] = []
  const batches = new Batches<string>({
    widthMax: 1,
    sizeMax: 3,
    keyOf: (call) => call[0]!,
    isAlone: (call) => call[0] !== call[0]!.toLowerCase(),
    carryOut(calls) {
      sent.push(calls.join(' '))
      return new Promise((resolve) => answers.push(resolve))
    },
    ...options,
  })
  const add = async (...calls: string[]) => {
    for (const call of calls) batches.add(call)
    await settled()
  }
  const answer = async () => {
    answers.shift()!()
    await settled()
  }
  return { batches, sent, add, answer }
}

describe('batches', () => {
  test('take calls up to a length together, and a longer call by itself', async () => {
    const { sent, add, answer } = start({ sizeMax: 9, lengthOf: (call) => call.length, lengthMax: 5 })
    await add('aa', 'bbb', 'c', 'dddddd', 'e')
    for (let batches = 0; batches < 3; batches++) await answer()
    assert.deepEqual(sent, ['aa bbb', 'c', 'dddddd', 'e'])
  })

  test('include every call of the same turn, and are sent at its end', async () => {
    const { batches, sent, add } = start()
    batches.add('a')
    for (let later = 0; later < 9; later++) await Promise.resolve()
    await new Promise<void>((resolve) => process.nextTick(resolve))
    assert.deepEqual(sent, [])
    await add('b')
    assert.deepEqual(sent, ['a b'])
  })

  test('collect the calls that arrive while one is in flight, in order, up to their maximum size', async () => {
    const { sent, add, answer } = start()
    await add('a')
    await add('b')
    await add('c', 'd', 'e')
    assert.deepEqual(sent, ['a'])
    await answer()
    await answer()
    assert.deepEqual(sent, ['a', 'b c d', 'e'])
  })

  test('are up to the maximum in flight with one call each, and two in flight with many calls', async () => {
    const { sent, add, answer } = start({ widthMax: 3 })
    await add('a')
    await add('b')
    await add('c')
    await add('d')
    assert.deepEqual(sent, ['a', 'b', 'c'])
    await answer()
    assert.deepEqual(sent.slice(3), ['d'])
    await add('e', 'f', 'g')
    await answer()
    assert.deepEqual(sent.slice(4), ['e f g'])
    await add('h')
    await answer()
    assert.deepEqual(sent.slice(5), [])
    await answer()
    assert.deepEqual(sent.slice(5), ['h'])
  })

  test('contain one call of a key at a time: the next waits for it, and calls of other keys overtake it', async () => {
    const { sent, add, answer } = start({ widthMax: 2 })
    await add('a1', 'a2', 'b')
    assert.deepEqual(sent, ['a1 b'])
    await add('c')
    assert.deepEqual(sent, ['a1 b', 'c'])
    await answer()
    assert.deepEqual(sent, ['a1 b', 'c', 'a2'])
  })

  test('contain one call only if it needs a batch of its own', async () => {
    const { sent, add, answer } = start()
    await add('a', 'B', 'c')
    await answer()
    assert.deepEqual(sent, ['a c', 'B'])
  })

  test('do not carry out a removed call, and are idle when no call is left', async () => {
    const { batches, sent, add, answer } = start()
    await add('a')
    await add('b')
    assert.equal(batches.remove('b'), true)
    assert.equal(batches.remove('a'), false)
    let idle = false
    const waiting = batches.idle().then(() => (idle = true))
    await settled()
    assert.equal(idle, false)
    await answer()
    await waiting
    await batches.idle()
    assert.deepEqual(sent, ['a'])
  })
})
