import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConnectionPool } from '../../../../src/engine/sql/connection-pool.ts'
import type { DatabaseConnection, Row } from '../../../../src/engine/sql/driver.ts'
import { FakeClock, settled } from '../../fake-clock.ts'

/** Connections. A cut of the network stops the answers of the connections that exist at that moment. */
class Network {
  readonly clock = new FakeClock()
  readonly made: FakeLink[] = []
  readonly links = new ConnectionPool({
    clock: this.clock,
    driver: {
      connect: () => {
        const link = new FakeLink()
        this.made.push(link)
        return link
      },
      failureOf: () => ({ kind: 'lost', message: 'lost' }),
    },
    sizeMax: 4,
    timeoutMs: 5000,
    onDown: () => {},
  })

  ask(): Promise<readonly Row[]> {
    return this.links.run((ask) => ask({ text: 'SELECT 1' }))
  }

  /** Makes four connections, each used once and idle. */
  async warm(): Promise<void> {
    await Promise.all([1, 2, 3, 4].map(() => this.ask()))
    assert.equal(this.made.length, 4)
  }

  cut(): void {
    for (const link of this.made) link.cut = true
  }
}

class FakeLink implements DatabaseConnection {
  readonly ready = Promise.resolve()
  cut = false
  destroyed = false
  async ask(): Promise<readonly Row[]> {
    return this.cut ? new Promise(() => {}) : []
  }
  hold(): void {}
  async end(): Promise<void> {}
  destroy(): void {
    this.destroyed = true
  }
}

describe('the connections to a database', () => {
  test('are replaced once a call has waited for a second: the network may have cut all of them', async () => {
    const network = new Network()
    await network.warm()
    network.cut()
    void network.ask().catch(() => {})
    await network.clock.pass(1001)
    assert.deepEqual(await network.ask(), [])
    assert.equal(network.made.length, 5)
    assert.equal(network.made.filter(({ destroyed }) => destroyed).length, 3)
  })

  test('are kept if one call is slow and another has been answered since', async () => {
    const network = new Network()
    await network.warm()
    network.made.at(-1)!.cut = true
    void network.ask().catch(() => {})
    await network.clock.pass(500)
    await network.ask()
    await network.clock.pass(600)
    await network.ask()
    await settled()
    assert.equal(network.made.length, 4)
    assert.equal(
      network.made.filter(({ destroyed }) => destroyed).length,
      2,
      'those that proved nothing since',
    )
  })
})
