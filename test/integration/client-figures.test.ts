/** What a node shows of the ids that fahao-client leases and issues by itself. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { startFahao } from '../launch/fahao.ts'

const million = 1_000_000

describe('a million ids that a client issues by itself', { timeout: 120_000 }, () => {
  for (const kind of ['segment', 'snowflake'])
    it(`are in the figures, the metrics and the advice of a ${kind}, and its end is in sight`, async (t) => {
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
        // The rest of a range that is not the newest cannot go back.
        const lost = leased - returned - drawn
        assert.ok(lost >= 0 && lost <= 0.25 * drawn, `${leased} leased, ${returned} back, ${drawn} drawn`)
      }
      const info = (await (await fetch(`${server.http}/v1/generators/order`)).json()) as {
        readonly exhaustedAt: string | null
        readonly stats: { readonly drawn: number; readonly callersPerSecond: number }
        readonly notes: readonly string[]
      }
      assert.equal(info.stats.drawn, million)
      assert.match(info.notes.join(), /callers have .*issued 1000000 themselves/)
      if (kind === 'segment') assert.ok(info.exhaustedAt !== null)
    })
})
