import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Output } from '../../../src/postgres/output.ts'
import { writeColumns, writeReady } from '../../../src/postgres/replies.ts'
import { query, serve } from './serve.ts'

test('a message that fails half way leaves no byte behind, and whole ones stay', () => {
  const output = new Output()
  writeReady(output, 'I')
  const column = {
    name: 'a',
    get type(): number {
      return assert.fail('no type')
    },
  }
  assert.throws(() => writeColumns(output, [column]), /no type/)
  output.abandon()
  output.abandon()
  writeReady(output, 'T')
  output.abandon()
  assert.equal(output.take(), 'Z\0\0\0\x05IZ\0\0\0\x05T')
})

test('a row that is too long is refused, and the connection goes on', async (t) => {
  const served = await serve(t)
  const client = await served.session()
  const columns = Array(1600).fill('s').join()
  const from = (char: string) => `FROM (SELECT '${char.repeat(3000)}' s) t`
  for (const char of ['x', '€']) {
    client.send(query(`SELECT ${columns} ${from(char)}`))
    const { C, M } = await client.error()
    assert.equal(C, '54000')
    assert.match(M!, /at most 4194304 bytes; select fewer or shorter columns/)
    await client.until('Z')
  }
  client.send(query(`SELECT s ${from('€')}`))
  const row = (await client.until('Z')).find(({ type }) => type === 'D')
  assert.equal(row?.body.length, 2 + 4 + 9000)
  assert.deepEqual(served.faults, [])
})
