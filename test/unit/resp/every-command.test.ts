/** Every command against words that no honest client sends, alone and behind a request that waits. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createCommands } from '../../../src/commands/all.ts'
import type { Command } from '../../../src/commands/command.ts'
import { refusals } from '../../../src/commands/refused-commands.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import { type RespServer, startRespServer } from '../../../src/resp/server.ts'
import { encodeCommand, RawClient } from '../../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../../launch/raw-reply.ts'
import { cheapPasswords } from '../auth/open-access.ts'
import { type HostileRequest, hostileRequests } from './hostile-requests.ts'

/** These may end the connection after their reply. */
const closing: readonly string[] = ['quit', 'client|kill']
const kinds = { target: 'sequence', share: 'segment', flake: 'snowflake' } as const

const common = {
  arity: 1,
  flags: [],
  permission: 'connection',
  group: 'generic',
  summary: '',
  reply: '',
} as const

let node: FahaoNode | undefined
let server: RespServer
const bugs: unknown[] = []
/** Lets the request that waits go on. */
let release: (() => void) | undefined
const wait = () => new Promise<string>((resolve) => (release = () => resolve('waited')))

/** A command that waits, and one behind which those that draw ids start. */
const waiting: readonly Command[] = [
  { ...common, name: 'test.wait', handler: wait },
  { ...common, name: 'test.draw', handler: wait, overlaps: () => true },
]
const commands = createCommands()

before(async () => {
  process.on('unhandledRejection', (error) => bugs.push(error))
  await renew()
  server = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: new CommandTable([...commands.all(), ...waiting], refusals),
    context: (session) => ({
      session,
      get catalogue() {
        return node!.catalogue
      },
      get server() {
        return node!.server
      },
    }),
    onError: (error) => bugs.push(error),
  })
})

after(async () => {
  await server.close(0)
  await node?.close()
})

/** Another node, since an earlier request may have dropped, altered or used up the generators of this one. */
async function renew(): Promise<void> {
  await node?.close()
  node = await startNode(loadConfig({ flags: { engine: 'memory:', resp: 'off', http: 'off' } }).config, {
    passwords: cheapPasswords(),
  })
  for (const [name, kind] of Object.entries(kinds)) {
    await node.catalogue.create(name, { kind })
    await (await node.catalogue.open(name)).draw(1)
  }
}

/** How many ids each of the generators has issued. */
function issued(): Record<string, number | undefined> {
  return Object.fromEntries(
    Object.keys(kinds).map((name) => [name, node?.catalogue.find(name)?.stats().issued]),
  )
}

/** Sends a request once or twice behind another one; returns its replies and whether the connection stays open. */
async function exchange(
  client: RawClient,
  first: string | undefined,
  words: HostileRequest['words'],
): Promise<{ replies: RawReply[]; isOpen: boolean }> {
  const request = encodeCommand(words)
  const times = first === undefined ? 2 : 1
  // DISCARD: a transaction that the request has begun would queue the marker.
  const marker = [encodeCommand(['DISCARD']), encodeCommand(['ECHO', 'marker'])]
  const parts = [...Array<Uint8Array>(times).fill(request), ...marker]
  if (first !== undefined) parts.unshift(encodeCommand([first]))
  client.send(Buffer.concat(parts))
  if (first !== undefined) {
    while (release === undefined) await new Promise((resolve) => setImmediate(resolve))
    release()
    release = undefined
    assert.equal(await client.read(), 'waited')
  }
  const replies: RawReply[] = []
  for (;;) {
    const reply = await client.read().catch(() => undefined)
    if (reply === undefined) return { replies, isOpen: false }
    if (reply === 'marker') return { replies: replies.slice(0, -1), isOpen: true }
    replies.push(reply)
  }
}

describe('every command, with words that no honest client sends', { timeout: 240_000 }, () => {
  const ways = [
    { way: 'alone', first: undefined, protocol: 3 },
    { way: 'behind a wait', first: 'TEST.WAIT', protocol: 3 },
    { way: 'behind another draw', first: 'TEST.DRAW', protocol: 2 },
  ] as const
  for (const { way, first, protocol } of ways) {
    test(`gets one reply each in order, and issues nothing where it is refused: ${way}, RESP${protocol}`, async () => {
      const connect = async () => {
        const client = await RawClient.connect(server.port)
        await client.command('HELLO', protocol)
        return client
      }
      let client = await connect()
      let group = ''
      for (const { command, words } of hostileRequests(commands.all(), Object.keys(kinds))) {
        if (command !== group || node?.catalogue.find('target') === undefined) await renew()
        if (command !== group) {
          await client.command('RESET')
          await client.command('HELLO', protocol)
        }
        group = command
        const what = `${command} ${JSON.stringify(words.map(String))}`.slice(0, 300)
        const earlier = issued()
        const { replies, isOpen } = await exchange(client, first, words)
        if (isOpen) assert.equal(replies.length, first === undefined ? 2 : 1, what)
        else assert.ok(closing.includes(command) && replies.length === 1, what)
        const refused = replies.every((reply) => reply instanceof ReplyError)
        if (refused) assert.deepEqual(issued(), earlier, what)
        if (!isOpen) client = await connect()
      }
      await client.close()
      const prober = await RawClient.connect(server.port)
      assert.equal(await prober.command('PING'), 'PONG')
      await prober.close()
      assert.deepEqual(bugs, [])
    })
  }
})
