/**
 * `kill -9` while pipelines of new names are looked up, created and first reserved in groups, again and again on one store: no id
 * twice, none above a durable bound, and every name that was answered exists afterwards and goes on above its ids.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'
import { judge, roundsOf } from './campaign.ts'
import { Journal } from './journal.ts'
import { nowUs } from './load.ts'
import { tracedFromStart } from './trace.ts'

const rounds = roundsOf(6)
const pipelineLength = 128
const connectionsCount = 3
const common = ['--auto-create', '*=sequence', '--log-level', 'warn']

/** Where the server is killed: at any moment, or while every answer comes late after its sync. */
const wrappers = [() => [], () => tracedFromStart('fsync,fdatasync:delay_exit=15000:when=8+')]

test('a server that is killed among new names repeats nothing and has lost no name that was answered', async (t) => {
  const server = await startFahao(t, { args: common })
  const journals = new Map<string, Journal>()
  let connections = 0
  let names = 0
  let count = 0

  const note = (name: string, id: bigint, sentUs: number, connection: number) => {
    const journal = journals.get(name) ?? new Journal()
    journals.set(name, journal)
    journal.add({ ids: [id], sentUs, receivedUs: nowUs(), connection })
    count++
  }

  /** Sends a pipeline, and notes each reply as it arrives. */
  async function ask(client: RawClient, connection: number, wanted: readonly string[]): Promise<void> {
    const sentUs = nowUs()
    client.send(Buffer.concat(wanted.map((name) => encodeCommand(['INCR', name]))))
    for (const name of wanted) {
      const reply = await client.read()
      assert.equal(typeof reply, 'bigint', String(reply))
      note(name, reply as bigint, sentUs, connection)
    }
  }

  /** Asks for new names until the server is gone; each is in the pipelines of two connections, and twice in one. */
  async function pull(first: number): Promise<void> {
    const connection = ++connections
    const client = await RawClient.connect(server.resp)
    try {
      for (let from = first; ; from += pipelineLength) {
        const wanted = Array.from({ length: pipelineLength }, (_, index) => `n${from + (index % 100)}`)
        names = Math.max(names, from + 100)
        await ask(client, connection, wanted)
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    } finally {
      await client.close()
    }
  }

  let lost = 0
  for (let round = 0; round < rounds; round++) {
    const before = count
    const first = names
    for (let starts = 0; starts < 10 && count === before; starts++) {
      await server.restart({ wrapper: wrappers[round % wrappers.length]!(), args: common })
      // Two of three begin with the same names.
      const pulling = Array.from({ length: connectionsCount }, (_, index) =>
        pull(index < 2 ? first : first + 1_000_000 + connections * 10_000),
      )
      while (count === before && server.process.exit() === undefined) await pause(2)
      await pause(Math.random() * 200)
      await server.kill('SIGKILL')
      await Promise.all(pulling)
    }
    names = first + 100_000
    assert.ok(count > before, 'names were created before the kill')
    // A node without the rule creates none of them again.
    await server.restart({ wrapper: [], args: ['--log-level', 'warn'] })
    const client = await server.connect()
    const connection = ++connections
    for (const name of [...journals.keys()].slice(-500)) {
      const sentUs = nowUs()
      const reply = await client.command('INCR', name)
      if (typeof reply !== 'bigint') lost++
      else note(name, reply, sentUs, connection)
    }
    await client.close()
    assert.equal(lost, 0, `round ${round}: names that were answered are gone`)
  }
  const strict = [...journals.keys()]
  judge(t, { journals, count }, strict, { name: 'kill -9, new names', rounds })
})
