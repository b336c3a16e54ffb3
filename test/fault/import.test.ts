/**
 * `kill -9` of an import among the rows that it moves together, again and again: no row is in service and live, no generator
 * stands below its row, and the import goes on where it was.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine } from '../../src/engine/engine.ts'
import { openEngine } from '../../src/engine/open.ts'
import { listAll } from '../../src/engine/pages.ts'
import { movedPrefix } from '../../src/legacy/schemas.ts'
import { engineOptions } from '../conformance/store-under-test.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startProcess } from '../launch/process.ts'
import { type LegacyBench, legacyBench } from '../legacy/bench.ts'
import { startOldNode } from '../legacy/old-nodes.ts'
import { roundsOf } from './campaign.ts'

const servers = [await startMariaDb({ after }), await startPostgres({ after })]
const rowsCount = 2000
const rounds = roundsOf(4)
const step = 10n

/** The rows of the table as they stand: by name, whether each is in service, and its bound. */
async function rowsOf({ database }: LegacyBench) {
  const { rows } = await database.send('SELECT biz_tag AS tag, max_id FROM leaf_alloc')
  return rows.map(({ tag, max_id: bound }) => {
    const inService = !tag!.startsWith(movedPrefix)
    return { name: inService ? tag! : tag!.slice(movedPrefix.length), inService, bound: BigInt(bound!) }
  })
}

async function movedCount({ database }: LegacyBench): Promise<number> {
  const { rows } = await database.send(
    `SELECT COUNT(*) AS moved FROM leaf_alloc WHERE biz_tag LIKE '${movedPrefix}%'`,
  )
  return Number(rows[0]!.moved)
}

/** Checks what the import has left; resolves to the number of generators that are live. */
async function check(bench: LegacyBench, target: Engine): Promise<number> {
  const live = new Set((await listAll(target, 'generators/')).map(({ key }) => key))
  const rows = (await rowsOf(bench)).filter(({ name }) => live.has(`generators/${name}`))
  await Promise.all(
    rows.map(async ({ name, inService, bound }) => {
      assert.ok(!inService, `${name} is in service and live`)
      const counter = await target.counter(`generators/${name}`)
      assert.ok(counter.bound >= bound, `${name} stands at ${counter.bound}, its row at ${bound}`)
    }),
  )
  return live.size
}

/** Issues from an old node, one row after the other, until none is in service; resolves to the newest id of each row. */
async function issueFromOldNode(bench: LegacyBench, names: readonly string[]): Promise<Map<string, bigint>> {
  const node = await startOldNode('leaf', bench.database)
  const newest = new Map<string, bigint>()
  const left = new Set(names)
  while (left.size > 0) {
    for (const name of left) {
      await new Promise(setImmediate)
      try {
        newest.set(name, await node.next(name))
      } catch {
        left.delete(name)
      }
    }
  }
  return newest
}

async function campaign(t: TestContext, server: (typeof servers)[number], isTogether: boolean) {
  const bench = await legacyBench(t, server, 'leaf')
  const names = Array.from({ length: rowsCount }, (_, index) => `tag-${index}`)
  const values = names.map((name, index) => `('${name}', ${index}, ${step})`)
  await bench.database.send(`INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ${values.join(', ')}`)
  const into = isTogether ? bench.plainUrl : `sqlite:${join(temporaryFolder(t), 'fahao.db')}`
  const begin = () =>
    startProcess(t, {
      command: process.execPath,
      args: ['dist/fahao.js', 'import', '--from', bench.url, '--into', into, '--old-nodes-stopped'],
    })
  const look = async () => {
    const target = await openEngine(into, engineOptions())
    try {
      return await check(bench, target)
    } finally {
      await target.close()
    }
  }
  const old = isTogether ? issueFromOldNode(bench, names.slice(0, 300)) : Promise.resolve(new Map())
  for (let round = 0; round < rounds; round++) {
    const before = await movedCount(bench)
    // The rows that are left last for the rounds that are left.
    const wanted = before + (Math.random() * (rowsCount - before)) / (rounds - round)
    const importing = await begin()
    while ((await movedCount(bench)) < wanted && importing.exit() === undefined) await pause(1)
    await importing.kill('SIGKILL')
    await look()
  }
  const last = await begin()
  assert.deepEqual(await last.exited, { code: 0, signal: null }, last.output())
  assert.equal(await look(), rowsCount)
  const target = await openEngine(into, engineOptions())
  for (const [name, id] of await old) {
    const { bound } = await target.counter(`generators/${name}`)
    assert.ok(bound > id, `an old node has issued ${id} of ${name}, which goes on at ${bound}`)
  }
  await target.close()
}

for (const server of servers) {
  test(`an import within ${server.kind} that is killed repeats nothing, while old nodes issue`, (t) =>
    campaign(t, server, true))
  test(`an import from ${server.kind} into SQLite that is killed repeats nothing`, (t) =>
    campaign(t, server, false))
}
