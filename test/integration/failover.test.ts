/** A fleet on one database: it starts all at once, and goes on when the database forgets. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { FahaoError } from '../../src/base/errors.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import type { FahaoNode } from '../../src/node/node.ts'
import { startNode } from '../../src/node/start.ts'
import type { DatabaseServer } from '../launch/database.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'

const names = ['seg', 'seq', 'snow']
const configFile = `generators:
  seg: { kind: segment, step: 100, horizon: 1s }
  seq: { kind: sequence }
  snow: { kind: snowflake }
`

/** Nodes on a database of their own, whose ids are all different or the test fails. */
class Fleet {
  readonly nodes: FahaoNode[] = []
  readonly said: string[] = []
  readonly #seen = new Set<string>()
  readonly #engine: string
  readonly #flags: Record<string, string>

  constructor(engine: string, flags: Record<string, string>) {
    this.#engine = engine
    this.#flags = flags
  }

  /** @param engine the way to the database, if it is not that of all. */
  async start(engine = this.#engine): Promise<void> {
    const inputs = { flags: { ...this.#flags, engine, config: 'fleet.yaml' }, readFile: () => configFile }
    const { config } = loadConfig(inputs)
    this.nodes.push(await startNode(config, { onEvent: ({ message }) => this.said.push(message) }))
  }

  /** Draws from every generator on every node. */
  async issue(count: number): Promise<void> {
    for (const node of this.nodes) for (const name of names) await this.draw(node, name, count)
  }

  async draw(node: FahaoNode, name: string, count: number): Promise<void> {
    for (const run of await (await node.catalogue.open(name)).draw(count)) {
      for (let at = 0; at < run.count; at++) {
        const id = `${name} ${run.at(at)}`
        assert.ok(!this.#seen.has(id), `${id} was issued twice`)
        this.#seen.add(id)
      }
    }
  }

  /** Draws until all nodes serve all generators again; what they say meanwhile are published errors. */
  async issueEventually(count: number, of: readonly string[] = names): Promise<void> {
    for (const node of this.nodes) {
      for (const name of of) {
        while (!(await this.#drew(node, name, count))) await pause(50)
      }
    }
  }

  async #drew(node: FahaoNode, name: string, count: number): Promise<boolean> {
    try {
      await this.draw(node, name, count)
      return true
    } catch (error) {
      if (error instanceof FahaoError) return false
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()))
  }
}

/** `relax`, `restore`: statements that let commits lie in memory for a while, and that end this. */
function describeFailover(
  kind: string,
  start: () => Promise<DatabaseServer>,
  { relax, restore }: { relax: string; restore: string },
): void {
  describe(`a fleet on ${kind}`, async () => {
    const server = await start()

    /** A database of its own, and ways to it that can be stalled. */
    async function aDatabase(lifetime: Lifetime) {
      const url = await server.newDatabase()
      const name = new URL(url).pathname.slice(1)
      const way = async () => {
        const proxy = await startTcpProxy(lifetime, server.port)
        return { url: url.replace(`:${server.port}/`, `:${proxy.port}/`), proxy }
      }
      return { dump: () => server.dump(name), restore: (dump: string) => server.restore(name, dump), way }
    }

    async function forgetful(lifetime: Lifetime, flags: Record<string, string>) {
      const { dump, restore: restoreFrom, way } = await aDatabase(lifetime)
      const { url, proxy } = await way()
      const fleet = new Fleet(url, flags)
      await Promise.all([fleet.start(), fleet.start(), fleet.start()])
      await fleet.issue(500)
      const older = await dump()
      for (let round = 0; round < 3; round++) await fleet.issue(500)
      // MariaDB restores table by table. A node that reads half-way finds its worker id missing, so no node runs meanwhile.
      proxy.stall()
      await restoreFrom(older)
      proxy.resume()
      return fleet
    }

    test('starts ten nodes at once on an empty database, with one set of generators', async () => {
      const fleet = new Fleet(await server.newDatabase(), {})
      await Promise.all(Array.from({ length: 10 }, () => fleet.start()))
      await fleet.issue(20)
      assert.equal(new Set(fleet.nodes.map((node) => node.workerId)).size, 10)
      const infos = await Promise.all(fleet.nodes.map((node) => node.catalogue.info('seg')))
      assert.deepEqual(new Set(infos.map(({ incarnation }) => incarnation)), new Set([1n]))
      await fleet.close()
    })

    test('is refused where the server may lose commits in a crash, unless it is told otherwise', async () => {
      const url = await server.newDatabase()
      await server.admin(relax)
      await assert.rejects(new Fleet(url, {}).start(), { code: 'ENGINE' })
      const told = new Fleet(url, { 'unsafe-engine': 'on' })
      await told.start()
      await told.issue(10)
      await told.close()
      await server.admin(restore)
    })

    test('goes on by itself with a gap when an older dump is restored: not each node raises the bounds, and no id repeats', async (t) => {
      const fleet = await forgetful(t, { 'failover-gap': '1000000' })
      await fleet.issueEventually(2000)
      const raised = fleet.said.filter((line) => /^raised \d+ counters by 1000000 and accepted/.test(line))
      assert.equal(raised.length, 1, fleet.said.join('\n'))
      // A node that asks only after the bounds were raised has nothing to notice.
      assert.ok(fleet.nodes.some((node) => node.regressions > 0))
      for (const node of fleet.nodes) {
        while (node.health().state !== 'ok') await pause(50)
      }
      await fleet.close()
    })

    test('looks at everything anew in a node that has noticed nothing, when another has raised the bounds', async (t) => {
      const { dump, restore: restoreFrom, way } = await aDatabase(t)
      const [ones, idles] = [await way(), await way()]
      const fleet = new Fleet(ones.url, {})
      await fleet.start()
      await fleet.issue(500)
      const older = await dump()
      await fleet.start(idles.url)
      const [one, idle] = fleet.nodes as [FahaoNode, FahaoNode]
      for (const name of names) await fleet.draw(idle, name, 50)
      await idle.catalogue.create('lost', { kind: 'segment' })
      const lost = await idle.catalogue.open('lost')
      await lost.draw(1)
      await fleet.draw(one, 'seq', 1)
      ones.proxy.stall()
      idles.proxy.stall()
      await restoreFrom(older)
      ones.proxy.resume()
      await assert.rejects(
        async () => {
          for (;;) await fleet.draw(one, 'seq', 1)
        },
        { code: 'REGRESSED' },
      )
      await one.advance(1_000_000n)
      idles.proxy.resume()
      await fleet.draw(one, 'snow', 10)
      while (idle.catalogue.find('lost') !== undefined) await pause(50)
      await assert.rejects(idle.catalogue.open('lost'), { code: 'NOGENERATOR' })
      assert.equal(idle.regressions, 0)
      // Its claim was forgotten, too: it makes another, above all time that can have been reserved.
      await fleet.issueEventually(2000)
      await fleet.close()
    })

    test('stops without a gap then, says why, and goes on in all nodes when any one is told to advance', async (t) => {
      const fleet = await forgetful(t, {})
      for (const node of fleet.nodes) {
        await assert.rejects(
          async () => {
            for (;;) await fleet.draw(node, 'seq', 1)
          },
          { code: 'REGRESSED' },
        )
        while (node.health().state === 'ok') await pause(50)
        assert.match(
          node.health().reason!,
          /forgotten writes.*run `fahao advance --by N` on one node that ran before this/,
        )
      }
      await fleet.nodes[1]!.advance(1_000_000n)
      await fleet.issueEventually(2000)
      for (const node of fleet.nodes) while (node.health().state !== 'ok') await pause(50)
      await fleet.close()
    })
  })
}

describeFailover('MariaDB', () => startMariaDb({ after }), {
  relax: 'SET GLOBAL innodb_flush_log_at_trx_commit = 2',
  restore: 'SET GLOBAL innodb_flush_log_at_trx_commit = 1',
})
describeFailover('PostgreSQL', () => startPostgres({ after }), {
  relax: 'ALTER ROLE fahao SET synchronous_commit = off',
  restore: 'ALTER ROLE fahao RESET synchronous_commit',
})
