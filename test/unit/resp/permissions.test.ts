/** Permissions that change while requests wait, or are queued in a transaction. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import type { Command } from '../../../src/commands/command.ts'
import type { ClientSession } from '../../../src/commands/context.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { transactionCommands } from '../../../src/commands/transactions.ts'
import { Desk } from '../commands/desk.ts'
import { commandsOf, connect, Peer, serve, World } from './peer.ts'

const connection = ['multi', 'exec', 'discard', 'ping', 'wait', 'draw']
const drawing = new Access('ada', new Set([...connection, 'incr']), ['order*'])
const denied = "-NOPERM User ada has no permissions to run the 'incr' command\r\n"
const elsewhere = '-NOPERM No permissions to access a key\r\n'
const abort = '-EXECABORT Transaction discarded because of previous errors.\r\n'
const changed = (what: string) =>
  `-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission to ${what}\r\n`

/** A connection of a user that may run `incr` on `order*`. */
async function start(t: TestContext) {
  const world = new World()
  const own = commandsOf(world).map((command) =>
    command.name === 'incr' ? { ...command, keys: [1, 1, 1] as const } : command,
  )
  const table = new CommandTable([...own, ...transactionCommands])
  // What is refused is recorded there.
  const desk = new Desk()
  const context = (session: ClientSession) => ({ session, catalogue: desk.catalogue, server: desk.server })
  const { server } = await serve(t, { table, context, initialAccess: () => drawing })
  world.counter('order')
  const change = (commands: readonly string[], patterns: readonly string[]) => {
    const access = new Access('ada', new Set(commands), patterns)
    server.refreshAccess(() => access)
  }
  return { server, world, change, peer: await Peer.to(server) }
}

test('a request that is not permitted is refused when it is queued, and EXEC uses up no id', async (t) => {
  const { peer, world, change } = await start(t)
  await peer.ask('MULTI\r\nINCR order\r\nINCR user\r\nEXEC\r\n', `+OK\r\n+QUEUED\r\n${elsewhere}${abort}`)
  change(connection, ['*'])
  await peer.ask('MULTI\r\nINCR order\r\nPING\r\nEXEC\r\n', `+OK\r\n${denied}+QUEUED\r\n${abort}`)
  assert.equal(world.counter('order').next, 1n)
})

test('a request that was queued is refused by EXEC if the permissions have changed since', async (t) => {
  const { peer, world, change } = await start(t)
  const incr = '*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n'
  await peer.ask(`MULTI\r\n${incr}PING\r\n${incr}`, '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n')
  change(connection, ['*'])
  const command = changed('execute the command or subcommand')
  await peer.ask('EXEC\r\n', `*3\r\n${command}+OK\r\n${command}`)
  change([...connection, 'incr'], ['order'])
  await peer.ask(`MULTI\r\n${incr}`, '+OK\r\n+QUEUED\r\n')
  change([...connection, 'incr'], ['user'])
  await peer.ask('EXEC\r\n', `*1\r\n${changed('touch the specified keys')}`)
  assert.equal(world.counter('order').next, 1n)
})

test('a transaction that runs draws nothing more for a user that is removed, and its connection ends', async (t) => {
  const { server, peer, world } = await start(t)
  await peer.ask(
    'MULTI\r\nINCR order\r\nWAIT\r\nINCR order\r\nEXEC\r\n',
    `+OK\r\n${'+QUEUED\r\n'.repeat(3)}*3\r\n:1\r\n`,
  )
  server.refreshAccess(() => undefined)
  await world.release('x')
  assert.equal(await peer.closed, `$1\r\nx\r\n${changed('execute the command or subcommand')}`)
  assert.equal(world.counter('order').next, 2n)
})

test('a repeated request that waits behind another is checked again after the permissions have changed', async (t) => {
  const { peer, world, change } = await start(t)
  const incr = '*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n'
  await peer.ask(incr, ':1\r\n')
  peer.send(`DRAW a\r\n${incr}`)
  while (world.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
  change(connection, ['*'])
  await world.release('a')
  await peer.expect(`$1\r\na\r\n${denied}`)
  assert.equal(world.counter('order').next, 2n)
})

test('an error names what its reader may not name in no reply', async (t) => {
  const fuller = { pattern: 'order*', message: 'the full sentence' }
  const failing: Command = {
    ...commandsOf(new World()).find(({ name }) => name === 'ping')!,
    handler() {
      throw new FahaoError('QUOTA', 'the sentence for all', { fuller })
    },
  }
  const { server, peer } = await connect(t, {
    table: new CommandTable([failing]),
    initialAccess: () => drawing,
  })
  await peer.ask('PING\r\n', '-QUOTA the full sentence\r\n')
  server.refreshAccess(() => new Access('ada', new Set(connection), ['order:1']))
  await peer.ask('PING\r\n', '-QUOTA the sentence for all\r\n')
})
