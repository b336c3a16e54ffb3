/**
 * Requests with keys, each sent to all nodes of a cluster at once, while leaders are killed and answers are lost, of the store and
 * of the nodes: each request has one answer.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ReplyError } from '../launch/raw-reply.ts'
import { Asker } from './asker.ts'
import type { ClusterEngine } from './cluster-engines.ts'
import { startCluster } from './cluster-nodes.ts'
import { missingOf, repeatedOf } from './crowd.ts'

const workers = 48
const generators = { whole: ['GAPS', 'none'], buffered: ['STEP', '200', 'HORIZON', '100ms'] } as const

/** The campaign: `requests` of each generator; each fault once, at even distances. */
export async function onceEach(t: TestContext, engine: ClusterEngine, requests: number): Promise<void> {
  const cluster = await startCluster(t, engine, { proxied: true, args: () => ['--forward'] })
  for (const [name, options] of Object.entries(generators)) await cluster.create(name, 'sequence', ...options)
  const answers = new Map<string, Set<string>>()
  const errors = new Map<string, number>()
  let begun = 0
  let repeats = 0
  const askUntilAnswered = async (asker: Asker, name: string, key: string) => {
    for (;;) {
      const reply = await asker.ask('ID.NEXT', name, 'KEY', key)
      if (reply !== undefined && !(reply instanceof ReplyError)) return String(reply)
      repeats++
      if (reply === undefined) continue
      errors.set(reply.code, (errors.get(reply.code) ?? 0) + 1)
      await pause(10)
    }
  }
  const names = Object.keys(generators)
  const running = Array.from({ length: workers }, async () => {
    const askers = cluster.nodes.map(({ server }) => new Asker(() => server.resp))
    while (begun < requests * names.length) {
      const at = begun++
      const name = names[at % names.length]!
      const key = `${name}/${at}`
      const replies = await Promise.all(askers.map((asker) => askUntilAnswered(asker, name, key)))
      answers.set(key, new Set(replies))
    }
    await Promise.all(askers.map((asker) => asker.close()))
  })
  const all = Promise.all(running)
  const untilAnswered = async (share: number) => {
    while (answers.size < share * requests * names.length) await pause(5)
  }
  await untilAnswered(0.2)
  const first = await cluster.untilLed('whole')
  const dropped = first.proxies.map((proxy) => proxy.dropReplyOf((bytes) => hasKey(bytes), 3))
  await untilAnswered(0.4)
  const leader = await cluster.untilLed('whole')
  await leader.server.kill('SIGKILL')
  await leader.server.start()
  await cluster.untilComplete()
  await untilAnswered(0.7)
  const other = await cluster.untilLed('buffered')
  await other.server.kill('SIGKILL')
  await other.server.start()
  await all
  const lost = dropped.reduce((sum, { count }) => sum + count, 0)
  t.diagnostic(
    `${answers.size} requests, each sent three times and ${repeats} times again; ${lost} answers of the store lost; errors: ${JSON.stringify([...errors])}`,
  )
  assert.ok(lost > 0, 'no answer of the store was lost')
  assert.equal(answers.size, requests * names.length)
  const several = [...answers].filter(([, { size }]) => size !== 1)
  assert.deepEqual(several, [])
  for (const name of names) {
    const of = [...answers].filter(([key]) => key.startsWith(name)).map(([, [answer]]) => BigInt(answer!))
    assert.deepEqual(repeatedOf(of), [])
    if (name === 'whole')
      assert.deepEqual(missingOf(of), [], 'numbers are missing although all repeat their keys')
  }
}

/** Whether a message to the store names the record of a key; MariaDB is sent bytes in hexadecimal. */
function hasKey(message: Buffer): boolean {
  return message.includes('once/') || message.includes(Buffer.from('once/').toString('hex'))
}
