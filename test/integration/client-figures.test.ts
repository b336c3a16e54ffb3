/** What a node shows of the ids that fahao-client leases and issues by itself. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { startFahao } from '../launch/fahao.ts'

const million = 1_000_000

describe('a million ids that a client issues by itself', { timeout: 120_000 }, () => {
  for (const kind of ['segment', 'snowflake'])
    test(`are in the figures, the metrics and the advice of a ${kind}, and its end is in sight`, async (t) => {
      const server = await startFahao(t, { engine: 'memory:' })
      const admin = await server.connect()
      const max = kind === 'segment' ? ['MAX', String(40 * million)] : []
      assert.equal(await admin.command('ID.CREATE', 'order', 'KIND', kind, ...max), 'OK')
      const client = await connect(`redis://127.0.0.1:${server.resp}`, { horizonMs: 1000 })
      const order = await client.generator('order')
      const ids = new Set<bigint>()
      while (ids.size < million) for (const id of await order.nextBatch(10_000)) ids.add(id)
      const metrics = async () => (await fetch(`${server.http}/metrics`)).text()
      const figureOf = (text: string, name: string) =>
        Number(new RegExp(`^${name}\\{generator="order"\\} (\\S+)$`, 'm').exec(text)?.[1])
      // While it is in use.
      const during = await metrics()
      if (kind === 'segment') {
        const left = 40 * million - figureOf(during, 'fahao_callers_leased_ids_total')
        const seconds = figureOf(during, 'fahao_exhaustion_seconds')
        const perSecond = figureOf(during, 'fahao_callers_ids_per_second')
        assert.ok(perSecond > 10_000, `${perSecond} a second`)
        assert.ok(
          Math.abs(seconds - left / perSecond) < 60,
          `${seconds} s for ${left} at ${perSecond} a second`,
        )
        assert.ok(seconds < 90 * 86_400, 'the alert of the documentation fires')
      }
      await client.close()
      const after = await metrics()
      const [leased, drawn, returned] = ['leased', 'drawn', 'returned'].map((what) =>
        figureOf(after, `fahao_callers_${what}_ids_total`),
      ) as [number, number, number]
      assert.equal(drawn, million)
      if (kind === 'segment') {
        const lost = leased - returned - drawn
        assert.ok(Math.abs(lost) <= 0.02 * drawn, `${leased} leased, ${returned} back, ${drawn} drawn`)
        assert.equal(
          figureOf(after, 'fahao_callers_gap_ids_total'),
          0,
          'it was alone: all can be issued again',
        )
        const left = figureOf(after, 'fahao_left_ids')
        assert.ok(Math.abs(40 * million - drawn - left) <= 0.02 * drawn, `${left} left after ${drawn}`)
      }
      const info = (await (await fetch(`${server.http}/v1/generators/order`)).json()) as {
        readonly exhaustedAt: string | null
        readonly stats: { readonly drawn: number; readonly callersPerSecond: number }
        readonly notes: readonly string[]
      }
      assert.equal(info.stats.drawn, million)
      assert.match(info.notes.join(), /callers have .*issued 1000000 themselves/)
      if (kind === 'segment') {
        const { seconds, endsInSeconds } = {
          seconds: figureOf(after, 'fahao_exhaustion_seconds'),
          endsInSeconds: (Date.parse(info.exhaustedAt ?? '') - Date.now()) / 1000,
        }
        assert.ok(
          Math.abs(seconds - endsInSeconds) < 60,
          `${seconds} s in metrics, ${endsInSeconds} s in info`,
        )
      }
    })
})

describe('the ids of callers that stand in each other’s way', { timeout: 120_000 }, () => {
  const figuresOf = async (http: string) => {
    const info = (await (await fetch(`${http}/v1/generators/order`)).json()) as {
      readonly stats: Readonly<Record<'issued' | 'leased' | 'drawn' | 'returned' | 'gap', number>>
    }
    return info.stats
  }

  test('are leased less returned when all have closed, also what cannot be issued again, and a killed one has lost the rest', async (t) => {
    const server = await startFahao(t, { engine: 'memory:' })
    const admin = await server.connect()
    assert.equal(await admin.command('ID.CREATE', 'order', 'KIND', 'segment'), 'OK')
    const url = `redis://127.0.0.1:${server.resp}`
    const clients = await Promise.all([1, 2, 3].map(() => connect(url, { horizonMs: 1000 })))
    let drawn = 0
    for (let round = 0; round < 20; round++)
      for (const client of clients) drawn += (await (await client.generator('order')).nextBatch(2000)).length
    for (const client of clients) await client.close()
    const closed = await figuresOf(server.http)
    assert.equal(closed.drawn, drawn)
    assert.equal(closed.leased - closed.returned, drawn)
    assert.ok(closed.gap > 0 && closed.gap <= closed.returned, `${closed.gap} of ${closed.returned}`)
    // What a process that is killed does: it leases, and is heard of no more.
    await admin.command('ID.LEASE', 'order', 'COUNT', '700')
    const { leased, returned, drawn: reported } = await figuresOf(server.http)
    assert.equal(leased - returned - reported, 700)
  })

  test('are those that were issued here, of a strict kind', async (t) => {
    const server = await startFahao(t, { engine: 'memory:' })
    const admin = await server.connect()
    assert.equal(await admin.command('ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
    const client = await connect(`redis://127.0.0.1:${server.resp}`)
    await (await client.generator('order')).nextBatch(5000)
    await client.close()
    const { issued, leased, drawn, returned, gap } = await figuresOf(server.http)
    assert.deepEqual([issued, leased, drawn, returned, gap], [5000, 0, 0, 0, 0])
  })
})
