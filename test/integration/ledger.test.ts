/** A ledger while its server, or its leader, is killed: each number is accounted for once, and what was confirmed stays so. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startCluster, viewOf } from '../launch/cluster.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

type Line = { readonly number: string; readonly state: string; readonly ref?: string }
type Used = { readonly number: string; readonly ref: string }

/** A client that reserves and confirms until it is told to stop, and goes to another server when its own does not answer. */
async function use(
  servers: readonly FahaoServer[],
  name: string,
  isOver: () => boolean,
  used: Used[],
): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const server = servers[round % servers.length]!
    try {
      const client = await server.connect()
      try {
        while (!isOver()) {
          const ref = `${name}-${round}-${used.length}`
          const reserved = (await client.command('ID.RESERVE', 'invoice', 'REF', ref)) as string[]
          if (!Array.isArray(reserved)) break
          const [number, reservation] = reserved as [string, string]
          if ((await client.command('ID.CONFIRM', 'invoice', reservation)) !== 'OK') break
          used.push({ number, ref })
        }
      } finally {
        await client.close()
      }
    } catch {
      // The server is away.
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function linesOf(server: FahaoServer): Promise<Line[]> {
  const lines: Line[] = []
  for (let next: string | null = '0'; next !== null; ) {
    const answer = await fetch(`${server.http}/v1/generators/invoice/ledger?from=${next}&count=1000`)
    assert.equal(answer.status, 200, await answer.clone().text())
    const page = (await answer.json()) as { lines: Line[]; next: string | null }
    lines.push(...page.lines)
    next = page.next
  }
  return lines
}

function check(lines: readonly Line[], used: readonly Used[]): void {
  assert.deepEqual(
    lines.map(({ number }) => number),
    lines.map((_, at) => String(at + 1)),
    'each number has one line',
  )
  assert.equal(new Set(used.map(({ number }) => number)).size, used.length, 'no number is confirmed twice')
  for (const { number, ref } of used) {
    const line = lines[Number(number) - 1]!
    assert.deepEqual([line.state, line.ref], ['confirmed', ref], number)
  }
}

/** Runs clients while `act` kills servers. */
async function underLoad(
  servers: readonly FahaoServer[],
  act: (used: Used[]) => Promise<void>,
): Promise<Used[]> {
  let isOver = false
  const used: Used[] = []
  const clients = Array.from({ length: 8 }, (_, at) => use(servers, `client${at}`, () => isOver, used))
  await act(used)
  isOver = true
  await Promise.all(clients)
  return used
}

/** Resolves once that many numbers more were confirmed. */
async function more(used: readonly Used[], count: number): Promise<void> {
  const enough = used.length + count
  while (used.length < enough) await new Promise((resolve) => setImmediate(resolve))
}

describe('a ledger under kill -9', { timeout: 120_000 }, () => {
  test('of its server on SQLite', async (t) => {
    const server = await startFahao(t)
    const admin = await server.connect()
    assert.equal(await admin.command('ID.CREATE', 'invoice', 'KIND', 'sequence', 'LEDGER', 'on'), 'OK')
    const used = await underLoad([server], async (used) => {
      for (let kills = 0; kills < 3; kills++) {
        await more(used, 100)
        await server.kill('SIGKILL')
        await server.restart()
      }
      await more(used, 100)
    })
    check(await linesOf(server), used)
    // What was held by a killed request lapses, or is voided.
    for (const { number, state } of await linesOf(server))
      if (state === 'held') {
        const voided = `${server.http}/v1/generators/invoice/reservations/${number}/void?reason=killed`
        assert.equal((await fetch(voided, { method: 'POST' })).status, 204)
      }
    const closed = await fetch(`${server.http}/v1/generators/invoice/ledger/close`, { method: 'POST' })
    const { hash, through } = (await closed.json()) as { hash: string; through: string }
    const cli = ['node', join(import.meta.dirname, '../../dist/fahao.js'), 'ledger']
    const exported = await runProgram([...cli, 'invoice', '--url', server.http])
    const path = join(temporaryFolder(t), 'ledger.jsonl')
    writeFileSync(path, exported)
    const said = await runProgram([...cli, '--verify', path])
    assert.match(said, new RegExp(`lines of ledger 'invoice' up to ${through} .* with hash ${hash}`))
    writeFileSync(path, exported.replace(used[5]!.ref, 'other'))
    await assert.rejects(runProgram([...cli, '--verify', path]), /was changed: its hash is another/)
  })

  test('of its leader in a cluster on etcd', async (t) => {
    const nodes = await startCluster(t, [
      ['--shards', '1', '--forward'],
      ['--shards', '1', '--forward'],
    ])
    const admin = await nodes[0]!.connect()
    assert.equal(await admin.command('ID.CREATE', 'invoice', 'KIND', 'sequence', 'LEDGER', 'on'), 'OK')
    const views = await Promise.all(nodes.map((node) => viewOf(node)))
    const leader = views.findIndex(({ self, shards }) => self === shards[0]!.leader)
    const other = nodes[1 - leader]!
    const used = await underLoad(nodes, async (used) => {
      await more(used, 100)
      await nodes[leader]!.kill('SIGKILL')
      await more(used, 100)
    })
    check(await linesOf(other), used)
  })
})
