/** `fahao top` as people run it: on a terminal, in a script, and of a cluster that loses a node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../launch/cluster.ts'
import { startFahao } from '../launch/fahao.ts'
import { RawClient } from '../launch/raw-client.ts'
import { onTerminal } from '../launch/terminal.ts'
import { asking, assertSentence } from './cli-program.ts'

const entered = '\x1b[?1049h'
const left = '\x1b[?25h\x1b[?1049l'

test('top redraws a terminal until q, and leaves it as it was', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  await run('create', 'order', '--kind', 'sequence')
  const top = onTerminal(t, ['top', '--url', server.http])
  const first = await top.until(/no generator has an end in sight/)
  assert.ok(first.includes(entered))
  await run('next', 'order', '--count', '100')
  await top.until(/order +sequence +\d/)
  top.type('x')
  await top.until(/ids per second on one node/)
  top.type('q')
  const last = await top.until(left)
  assert.ok(last.includes(left))
  assert.equal(await top.exited, 0)
})

test('top shows a server that goes away and comes back, and ends on control and C', async (t) => {
  const server = await startFahao(t)
  const top = onTerminal(t, ['top', '--url', server.http])
  await top.until(/ ok /)
  await server.kill()
  await top.until(/ away .*no server answers/)
  await server.start()
  await top.until(/ ok /)
  top.type('\x03')
  await top.until(left)
  assert.equal(await top.exited, 0)
})

test('top prints one table for scripts, and refuses to redraw what is no terminal', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  await run('create', 'order', '--kind', 'sequence')
  await run('next', 'order')
  assert.match((await run('top', '--once')).stdout, /^order +sequence /m)
  const { nodes, generators } = JSON.parse((await run('top', '--json')).stdout)
  assert.deepEqual([nodes[0].node, nodes[0].state, generators[0].name], [server.http, 'ok', 'order'])
  const refused = await run('top')
  assert.equal(refused.code, 2)
  assertSentence(refused.stderr, /stdout is none; give --once/)
  await server.kill()
  assert.equal((await run('top', '--once')).code, 3)
})

test('top asks every node of a cluster, and names one that is away', async (t) => {
  const [one, two, three] = await startCluster(t, [[], [], []])
  const run = asking(t, one!)
  await run('create', 'user', '--kind', 'segment')
  for (const node of [one!, two!, three!]) await asking(t, node)('next', 'user', '--count', '10')
  const states = async () => {
    const { nodes } = JSON.parse((await run('top', '--json')).stdout)
    return new Map(nodes.map((each: { node: string; state: string }) => [each.node, each.state]))
  }
  assert.deepEqual(await states(), new Map([one!, two!, three!].map(({ http }) => [http, 'ok'])))
  await three!.kill()
  assert.equal((await states()).get(three!.http), 'away')
})

test('top ends when its user may not look any more', async (t) => {
  const server = await startFahao(t)
  const first = await RawClient.connect(server.resp, t)
  assert.equal(await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  const client = await RawClient.connect(server.resp, t)
  assert.equal(await client.command('AUTH', 'admin', 'secret'), 'OK')
  const watcher = ['ACL', 'SETUSER', 'watcher', 'on', '>secret', '~*', '+http|live']
  assert.equal(await client.command(...watcher), 'OK')
  const env = { FAHAO_USER: 'watcher', FAHAO_PASSWORD: 'secret' }
  const top = onTerminal(t, ['top', '--url', server.http], { env })
  await top.until(/ ok /)
  assert.equal(await client.command('ACL', 'SETUSER', 'watcher', 'off'), 'OK')
  await top.until(left)
  assert.equal(await top.exited, 1)
})
