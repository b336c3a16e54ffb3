import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CommandContext } from '../../../src/commands/context.ts'
import { connect, frame, Peer, serve } from './peer.ts'

/** A word that is not UTF-8. */
const unreadable = '*2\r\n$4\r\nDRAW\r\n$2\r\n\xb6\xa9\r\n'
const refusal = '-ERR argument 1 is not valid UTF-8\r\n'

describe('an error in a command', { timeout: 10_000 }, () => {
  test('is its answer when the arguments cannot be read, and costs nothing else', async (test) => {
    const { world, peer } = await connect(test)
    await peer.ask(unreadable + frame('PING'), `${refusal}+OK\r\n`)
    assert.deepEqual(world.errors, [])
  })

  test('is its answer in its turn when an earlier command waits', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('DRAW', 'a') + unreadable + frame('PING'))
    await world.release('1')
    await peer.expect(`$1\r\n1\r\n${refusal}+OK\r\n`)
    assert.deepEqual(world.errors, [])
  })

  test('is reported once when looking ahead fails, and the command is answered', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('DRAW', 'a') + frame('DRAW', 'bug') + frame('PING'))
    await world.release('1')
    await world.release('2')
    await peer.expect('$1\r\n1\r\n$1\r\n2\r\n+OK\r\n')
    assert.match(String(world.errors[0]), /looks ahead/)
  })
})

describe('an error outside any command', { timeout: 10_000 }, () => {
  test('ends the connection whose bytes it came with, and no other', async (test) => {
    let fails = false
    const { server, world, peer } = await connect(test, {
      mayIssue() {
        if (fails) throw new TypeError('a bug before commands')
        return true
      },
    })
    const other = await Peer.to(server)
    fails = true
    peer.send(frame('PING'))
    assert.equal(await peer.closed, '')
    fails = false
    await other.ask(frame('PING'), '+OK\r\n')
    assert.match(String(world.errors[0]), /before commands/)
  })

  test('ends the connection when it comes after a wait, and no other', async (test) => {
    let fails = false
    const { server, world, peer } = await connect(test, {
      mayIssue() {
        if (fails) throw new TypeError('a bug after a wait')
        return true
      },
    })
    const other = await Peer.to(server)
    peer.send(frame('WAIT') + frame('PING'))
    while (world.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
    fails = true
    await world.release('never sent')
    assert.equal(await peer.closed, '')
    fails = false
    await other.ask(frame('PING'), '+OK\r\n')
  })

  test('ends the connection when it comes before the first command, and no other', async (test) => {
    let fails = false
    const { server, world } = await serve(test, {
      context(session) {
        if (fails) throw new TypeError('a bug in a context')
        return { session } as CommandContext
      },
    })
    const other = await Peer.to(server)
    await other.ask(frame('PING'), '+OK\r\n')
    fails = true
    const peer = await Peer.to(server)
    assert.equal(await peer.closed, '')
    await other.ask(frame('PING'), '+OK\r\n')
    assert.match(String(world.errors[0]), /in a context/)
    assert.equal(server.stats.connections, 1)
  })
})
