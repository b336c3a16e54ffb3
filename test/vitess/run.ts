/** Vitess finds the shard of an order by its id, and it is the shard of its customer: by the package of its own vindexes, in Go. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

const program = import.meta.dirname
const customers = Array.from({ length: 200 }, (_, at) => 8812 + 977 * at)

test('an order lies on the shard of its customer, of 4 and of 1,024, wherever reverse_bits puts that', async (t) => {
  const built = join(temporaryFolder(t), 'shards')
  await runProgram(['go', 'build', '-o', built, '.'], { cwd: program })
  const server = await startFahao(t)
  const client = await server.connect()
  assert.equal(await client.command('ID.CREATE', 'order', 'KIND', 'sequence', 'GENE', '10'), 'OK')
  const pairs: string[] = []
  for (const customer of customers) {
    const orders = await client.command('ID.NEXT', 'order', 'COUNT', '5', 'GENE', customer % 1024)
    for (const order of orders as string[]) pairs.push(`${customer} ${order}`)
  }
  const shards = (await runProgram([built], { input: `${pairs.join('\n')}\n` })).trim().split('\n')
  assert.equal(shards.length, pairs.length)
  const used = [new Set<string>(), new Set<string>()]
  for (const [index, line] of shards.entries()) {
    const [few, fewOfOrder, many, manyOfOrder] = line.split(' ')
    assert.deepEqual([fewOfOrder, manyOfOrder], [few, many], pairs[index])
    used[0]!.add(few!)
    used[1]!.add(many!)
  }
  assert.equal(used[0]!.size, 4, 'all shards are used')
  assert.ok(used[1]!.size > 150, `${used[1]!.size} of 1,024 shards have orders of 200 customers`)
})
