/** Proof that requests have used up no id and changed no generator. */
import assert from 'node:assert/strict'
import type { FahaoServer } from '../launch/fahao.ts'
import { creations } from './examples.ts'

const names = creations.map(([, name]) => name!)
/** The unordered ones and those made of the clock have no successor that could be foretold. */
const successors: Readonly<Record<string, string>> = { order: '2', user: '2', sms: 'sms_2' }

/** Makes the examples and takes one id of each. The server must be fresh. */
export async function takeOneOfEach(server: FahaoServer): Promise<void> {
  const client = await server.connect()
  for (const creation of creations) assert.equal(await client.command(...creation), 'OK')
  for (const name of names) await client.command('ID.NEXT', name)
  await client.close()
}

/** Throws unless the second id of each example is still to come, and there are no other generators. Takes it. */
export async function assertUntouched(server: FahaoServer): Promise<void> {
  const metrics = await (await fetch(`${server.http}/metrics`)).text()
  const issued = [...metrics.matchAll(/^fahao_issued_ids_total\{generator="(.*)"\} (\d+)$/gm)]
  assert.deepEqual(
    new Map(issued.map(([, name, count]) => [name, count])),
    new Map(names.map((name) => [name, '1'])),
  )
  const client = await server.connect()
  assert.deepEqual(await client.command('KEYS', '*'), [...names].sort())
  for (const [name, id] of Object.entries(successors)) {
    assert.equal(await client.command('ID.NEXT', name), id)
  }
  await client.close()
}
