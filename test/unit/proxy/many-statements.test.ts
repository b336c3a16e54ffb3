/** A text of many INSERTs: what it draws, and what others see of it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { IdSupply } from '../../../src/proxy/id-supply.ts'
import { idsAtHand, startScene } from './obedient-server.ts'

const query = 3
const short = "INSERT INTO orders (item) VALUES ('x')"

/** Makes ids, none of which is at hand, and remembers what it was asked for. */
function recorder() {
  const asked: { generator: string; count: number; contiguous: boolean }[] = []
  let atOnce = 0
  let atOnceMax = 0
  let last = 0
  return {
    asked,
    get atOnceMax() {
      return atOnceMax
    },
    maker: {
      ...idsAtHand(),
      tryDraw: () => undefined,
      async draw(generator: string, count: number, _signal: AbortSignal, contiguous: boolean) {
        asked.push({ generator, count, contiguous })
        atOnceMax = Math.max(atOnceMax, ++atOnce)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce--
        return { ids: Array.from({ length: count }, () => String(++last)), isText: false }
      },
    },
  }
}

describe('a text of many INSERTs', () => {
  test('draws its ids in one batch, and no more ids than it has rows', async (t) => {
    const ids = recorder()
    const { login, statements } = await startScene(t, ids.maker)
    const client = await login()
    client.send(query, Array(4500).fill(short).join(';'))
    assert.equal((await client.reply())[4], 0)
    assert.deepEqual(
      ids.asked.map(({ count }) => count),
      [4500],
    )
    assert.equal(ids.atOnceMax, 1)
    const written = [...statements[0]!.matchAll(/LAST_INSERT_ID\((\d+)\)/g)].map(([, id]) => Number(id))
    assert.deepEqual(
      written,
      Array.from({ length: 4500 }, (_, index) => index + 1),
    )
  })

  test('asks for ids that follow one another only where a statement has several rows, in one batch for each generator', async () => {
    const ids = recorder()
    const supply = new IdSupply(ids.maker, 60_000)
    const draw = (generator: string, count: number) => ({ generator, count })
    const draws = [draw('a', 1), draw('b', 1), draw('a', 1), draw('b', 600), draw('b', 600), draw('b', 0)]
    const drawn = await supply.takeEach([...draws, draw('b', 5000)], new AbortController().signal)
    assert.deepEqual(ids.asked, [
      { generator: 'a', count: 2, contiguous: false },
      { generator: 'b', count: 6201, contiguous: true },
    ])
    assert.deepEqual(
      drawn.map(({ ids }) => [ids[0], ids.length]),
      [
        ['1', 1],
        ['3', 1],
        ['2', 1],
        ['4', 600],
        ['604', 600],
        [undefined, 0],
        ['1204', 5000],
      ],
    )
  })

  test('draws nothing more once its client is gone, or a draw has failed', async () => {
    const ids = recorder()
    const draws = Array.from({ length: 5000 }, () => ({ generator: 'a', count: 1 }))
    const gone = new AbortController()
    const waiting = Promise.resolve(new IdSupply(ids.maker, 60_000).takeEach(draws, gone.signal))
    gone.abort()
    await assert.rejects(waiting, { code: 'ABORTED' })
    // A long text is read in parts: its client may be gone before the first draw, with ids at hand.
    assert.throws(() => new IdSupply(idsAtHand(), 60_000).take('a', 1, gone.signal), {
      code: 'ABORTED',
    })
    const failing = { ...ids.maker, draw: () => Promise.reject(new Error('no ids')) }
    await assert.rejects(
      async () => new IdSupply(failing, 60_000).takeEach(draws, new AbortController().signal),
      /no ids/,
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(ids.asked.length, 1)
  })
})
