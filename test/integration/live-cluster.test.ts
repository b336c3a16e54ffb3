/** The live stream of a cluster of three processes: a node that is killed and comes back, and a reader whose user changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled, startCluster } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { atEnd } from '../launch/lifetime.ts'

type Line = {
  readonly type: 'history' | 'tick' | 'away'
  readonly node: string
  readonly issued: number
  readonly generators: Readonly<Record<string, unknown>>
}

const basic = (user: string) => ({ authorization: `Basic ${btoa(`${user}:secret`)}` })

/** The lines of a stream as they come. */
async function* lines(
  lifetime: Lifetime,
  { http }: FahaoServer,
  headers = {},
  query = '',
): AsyncGenerator<Line> {
  const ended = new AbortController()
  atEnd(lifetime, async () => ended.abort())
  const answer = await fetch(`${http}/v1/live${query}`, { headers, signal: ended.signal })
  assert.equal(answer.status, 200)
  let rest = ''
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    for (const part of parts) yield JSON.parse(part)
  }
}

/** Reads on until a line is as it is looked for. */
async function next(from: AsyncGenerator<Line>, isIt: (line: Line) => boolean): Promise<Line> {
  for (;;) {
    const { done, value } = await from.next()
    assert.ok(!done, 'the stream has ended')
    if (isIt(value)) return value
  }
}

test('the stream of any node has all nodes, one that is killed and comes back too, until its user may not read it', async (t) => {
  const nodes = await startCluster(t, [[], [], []])
  const [one, two, three] = nodes as [FahaoServer, FahaoServer, FahaoServer]
  const admin = await one.connect()
  for (const name of ['shop.order', 'other']) await admin.command('ID.CREATE', name, 'KIND', 'segment')
  for (const node of nodes)
    for (const name of ['shop.order', 'other'])
      await (await node.connect()).command('ID.NEXT', name, 'COUNT', '100')
  assert.equal(await admin.command('ACL', 'SETUSER', 'root', 'on', '>secret', '~*', '+@all'), 'OK')
  const root = await one.connect()
  assert.equal(await root.command('AUTH', 'root', 'secret'), 'OK')
  assert.equal(await root.command('ACL', 'SETUSER', 'narrow', 'on', '>secret', '~shop.*', '+@read'), 'OK')
  // The second node knows them too.
  while ((await fetch(`${two.http}/v1/whoami`, { headers: basic('narrow') })).status !== 200);

  const whole = lines(t, one, basic('root'))
  const ids = new Set<string>()
  while (ids.size < 3) ids.add((await next(whole, ({ type }) => type === 'history')).node)
  const sums = new Map<string, number>()
  while (sums.size < 3) {
    const { node, issued } = await next(whole, ({ type, issued: all }) => type === 'tick' && all === 200)
    sums.set(node, issued)
  }
  assert.deepEqual(new Set(sums.keys()), ids)

  const narrow = lines(t, two, basic('narrow'), '?generators=other')
  const told = new Set<string>()
  while (told.size < 3) {
    const { node, generators } = await next(narrow, ({ type, issued }) => type === 'tick' && issued === 100)
    assert.deepEqual(Object.keys(generators), ['shop.order'])
    told.add(node)
  }

  await three.kill()
  const { node: away } = await next(whole, ({ type }) => type === 'away')
  assert.ok(ids.has(away))
  await three.start()
  const back = await next(whole, ({ type, node }) => type === 'history' && !ids.has(node))
  await next(whole, ({ type, node }) => type === 'tick' && node === back.node)
  await settled(nodes, basic('root'))

  assert.equal(await root.command('ACL', 'SETUSER', 'narrow', 'off'), 'OK')
  for await (const line of narrow)
    assert.deepEqual(
      Object.keys(line.generators ?? {}).filter((name) => name !== 'shop.order'),
      [],
    )
  await next(whole, ({ type }) => type === 'tick')
})
