import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Output } from '../../../src/postgres/output.ts'
import { writeColumns, writeReady } from '../../../src/postgres/replies.ts'
import { query, serve } from './serve.ts'

test('a message that fails half way leaves no byte behind, and whole ones stay', () => {
  const output = new Output()
  writeReady(output, 'I')
  const columns = [{ name: 'a', type: 20 }]
  const fail = () => assert.fail('no format')
  assert.throws(() => writeColumns(output, columns, fail), /no format/)
  output.abandon()
  output.abandon()
  writeReady(output, 'T')
  output.abandon()
  assert.equal(output.take(), 'Z\0\0\0\x05IZ\0\0\0\x05T')
})

test('a row or a description that is too long is refused, and the connection goes on', async (t) => {
  const served = await serve(t)
  const client = await served.session()
  const columns = Array(1600).fill('s').join()
  const from = (char: string) => `FROM (SELECT repeat('${char}', 900000) s) t`
  const named = `FROM (SELECT 1 AS "${'n'.repeat(60_000)}") t`
  for (const text of [
    `SELECT ${columns} ${from('x')}`,
    `SELECT ${columns} ${from('€')}`,
    `SELECT ${Array(1600).fill('t.*').join()} ${named}`,
  ]) {
    client.send(query(text))
    const { C, M } = await client.error()
    assert.equal(C, '54000')
    assert.match(M!, /at most 4194304 bytes; select fewer or shorter columns/)
    await client.until('Z')
  }
  client.send(query(`SELECT s ${from('€')}`))
  const row = (await client.until('Z')).find(({ type }) => type === 'D')
  assert.equal(row?.body.length, 2 + 4 + 2_700_000)
  assert.deepEqual(served.faults, [])
})

test('the buffer that one long message needed is not kept, whether it was sent, refused or dropped', (t) => {
  const allocations = t.mock.method(Buffer, 'allocUnsafeSlow')
  const output = new Output()
  const long = 'x'.repeat(3_000_000)
  const write = () => {
    output.begin('D')
    output.value(long)
  }
  for (const end of [
    () => output.end(),
    () => output.abandon(),
    () => output.clear(),
    () => assert.throws(() => output.value(long), { sqlState: '54000' }),
  ]) {
    const grown = () => allocations.mock.calls.filter(({ result }) => result!.length >= long.length).length
    const before = grown()
    write()
    assert.equal(grown(), before + 1)
    end()
    output.abandon()
    output.take()
  }
})
