/** The check of a request with many names, or long patterns: it is done in turns, and CROSSSLOT goes before it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { accessWork, demandAccessInTurns } from '../../../src/commands/access.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { demandRecorded } from '../../../src/commands/recording.ts'
import { Desk } from './desk.ts'

const table = createCommands()
const patterns = Array.from({ length: 100 }, (_, index) => `n${'*a'.repeat(200)}*b${index}`)
const access = new Access('reader', new Set(['exists', 'incr', 'watch']), [...patterns, 'n:*'])

function request(...words: string[]) {
  return table.resolve(words.map((word) => Buffer.from(word)))
}

test('the check of many names waits for a turn before each of them', async () => {
  const taken: number[] = []
  const turns = { take: async (bytes: number) => void taken.push(bytes) }
  const asked = request('exists', ...Array.from({ length: 1000 }, (_, index) => `n:${index}`))
  await demandAccessInTurns(access, asked, turns)
  assert.equal(taken.length, 1000)
  assert.equal(
    accessWork(access, asked),
    taken.reduce((a, b) => a + b),
  )
  // A star-rich pattern of 400 characters has 13 words of bits.
  assert.ok(taken[0]! > 100 * 13, `${taken[0]}`)
})

test('the check in turns refuses what the check at once refuses', async () => {
  const turns = { take: async () => {} }
  for (const [words, message] of [
    [['exists', 'n:1', 'other'], /No permissions to access a key/],
    [['del', 'n:1'], /no permissions to run the 'del' command/],
  ] as const)
    await assert.rejects(demandAccessInTurns(access, request(...words), turns), message)
})

test('a request whose names lie in several slots is refused before a name is compared with patterns', () => {
  const desk = new Desk()
  desk.cluster = {} as never
  let compared = 0
  const counting = new Access('reader', new Set(['exists']), ['n:*'])
  Object.defineProperty(counting, 'reaches', { value: () => ++compared > 0 })
  const context = { session: desk.connect(), catalogue: desk.catalogue, server: desk.server }
  assert.throws(() => demandRecorded(counting, context, request('exists', 'n:1', 'n:2')), {
    code: 'CROSSSLOT',
  })
  assert.equal(compared, 0)
  demandRecorded(counting, context, request('exists', '{n:1}', '{n:1}b'))
  assert.equal(compared, 2)
})
