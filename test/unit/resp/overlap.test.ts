import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connect, frame, Peer, type World } from './peer.ts'

/** Resolves when `count` commands wait. */
async function waiting(world: World, count: number): Promise<void> {
  while (world.waits.length < count) await new Promise((resolve) => setImmediate(resolve))
}

function text(value: string): string {
  return `$${value.length}\r\n${value}\r\n`
}

describe('commands that only draw ids', () => {
  test('wait together, and are answered in order whichever is ready first', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('DRAW', 'a') + frame('DRAW', 'b') + frame('DRAW', 'a') + frame('DRAW', 'c'))
    await waiting(world, 4)
    assert.deepEqual(world.ran, ['draw a', 'draw b', 'draw a', 'draw c'])
    const [first, second, third, fourth] = world.waits
    third!('3')
    second!('2')
    fourth!('4')
    first!('1')
    await peer.expect(text('1') + text('2') + text('3') + text('4'))
  })

  test('do not let pass what is not one of them, and start again after it', async (test) => {
    const { server, world, peer } = await connect(test)
    const other = await Peer.to(server)
    peer.send(frame('DRAW', 'a') + frame('INCR', 'n') + frame('DRAW', 'b') + frame('DRAW', 'c'))
    await waiting(world, 1)
    await other.ask(frame('PING'), '+OK\r\n')
    assert.deepEqual(world.ran, ['draw a'])
    await world.release('1')
    await waiting(world, 2)
    assert.deepEqual(world.ran, ['draw a', 'incr', 'draw b', 'draw c'])
    await world.release('2')
    await world.release('3')
    await peer.expect(`${text('1')}:1\r\n${text('2')}${text('3')}`)
  })

  test('do not start behind one that has something else to wait for', async (test) => {
    const { server, world, peer } = await connect(test)
    const other = await Peer.to(server)
    peer.send(frame('WAIT') + frame('DRAW', 'a'))
    await waiting(world, 1)
    await other.ask(frame('PING'), '+OK\r\n')
    assert.deepEqual(world.ran, [])
    await world.release('waited')
    await world.release('1')
    await peer.expect(text('waited') + text('1'))
  })

  test('answer an error, a late one too, in its place', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(
      frame('DRAW', 'a') +
        frame('DRAW', 'fails') +
        frame('DRAW', 'b') +
        frame('NOSUCH') +
        frame('DRAW', 'c') +
        '*1\r\nx',
    )
    await waiting(world, 2)
    world.waits[1]!('2')
    await world.release('1')
    await world.release('')
    await world.release('3')
    const received = await peer.closed
    assert.match(
      received,
      /^\$1\r\n1\r\n-DRY the buffer is empty\r\n\$1\r\n2\r\n-ERR unknown command [^\r]*\r\n\$1\r\n3\r\n-ERR Protocol error: [^\r]*\r\n$/,
    )
  })

  test('come in pieces, too', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('DRAW', 'a') + frame('DRAW', 'bb').slice(0, -4))
    await waiting(world, 1)
    peer.send(frame('DRAW', 'bb').slice(-4) + frame('DRAW', 'ccc'))
    await waiting(world, 3)
    for (const value of ['1', '2', '3']) await world.release(value)
    await peer.expect(text('1') + text('2') + text('3'))
    assert.deepEqual(world.ran, ['draw a', 'draw bb', 'draw ccc'])
  })

  test('are bounded in number', async (test) => {
    const { server, world, peer } = await connect(test)
    const other = await Peer.to(server)
    peer.send(frame('DRAW', 'a').repeat(300))
    await waiting(world, 256)
    await other.ask(frame('PING'), '+OK\r\n')
    assert.equal(world.waits.length, 256)
    for (let index = 0; index < 300; index++) await world.release('x')
    await peer.expect(text('x').repeat(300))
  })

  test('are all answered before the connection closes', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('DRAW', 'a') + frame('DRAW', 'b') + frame('QUIT') + frame('DRAW', 'c'))
    await waiting(world, 2)
    await world.release('1')
    await world.release('2')
    assert.equal(await peer.closed, `${text('1')}${text('2')}+OK\r\n`)
    assert.deepEqual(world.ran, ['draw a', 'draw b'])
  })
})

describe('commands that change one name', () => {
  test('wait together with each other, and with draws of other names', async (test) => {
    const { world, peer } = await connect(test)
    peer.send(frame('CHANGE', 'a') + frame('CHANGE', 'b') + frame('DRAW', 'c') + frame('CHANGE', 'd'))
    await waiting(world, 4)
    assert.deepEqual(world.ran, ['change a', 'change b', 'draw c', 'change d'])
    for (const value of ['1', '2', '3', '4']) await world.release(value)
    await peer.expect(text('1') + text('2') + text('3') + text('4'))
  })

  for (const [first, second] of [
    ['CHANGE', 'CHANGE'],
    ['CHANGE', 'DRAW'],
    ['DRAW', 'CHANGE'],
  ] as const)
    test(`keep the order of a name: ${first}, then ${second}`, async (test) => {
      const { server, world, peer } = await connect(test)
      const other = await Peer.to(server)
      const named = `${second.toLowerCase()} a`
      peer.send(frame('DRAW', 'b') + frame(first, 'a') + frame(second, 'a') + frame('DRAW', 'c'))
      await waiting(world, 2)
      await other.ask(frame('PING'), '+OK\r\n')
      assert.deepEqual(world.ran, ['draw b', `${first.toLowerCase()} a`])
      await world.release('1')
      await world.release('2')
      await waiting(world, 2)
      assert.deepEqual(world.ran.slice(2), [named, 'draw c'])
      await world.release('3')
      await world.release('4')
      await peer.expect(text('1') + text('2') + text('3') + text('4'))
    })

  test('wait for every draw of their name, also where they come when the first has ended', async (test) => {
    const { server, world, peer } = await connect(test)
    const other = await Peer.to(server)
    peer.send(frame('DRAW', 'b') + frame('DRAW', 'a') + frame('DRAW', 'a'))
    await waiting(world, 3)
    world.waits[1]!('2')
    await other.ask(frame('PING'), '+OK\r\n')
    peer.send(frame('CHANGE', 'a'))
    await other.ask(frame('PING'), '+OK\r\n')
    assert.equal(world.waits.length, 3)
    world.waits[0]!('1')
    world.waits[2]!('3')
    await waiting(world, 4)
    world.waits[3]!('4')
    await peer.expect(text('1') + text('2') + text('3') + text('4'))
  })

  test('start in their order among any others, and never while another of their name waits', async (test) => {
    let seed = 7
    const below = (end: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % end
    }
    const sent = Array.from(
      { length: 400 },
      () => `${below(2) === 0 ? 'draw' : 'change'} ${'abcdefgh'[below(8)]}`,
    )
    const { world, peer } = await connect(test)
    peer.send(sent.map((each) => frame(...(each.split(' ') as [string, string]))).join(''))
    const open = new Set<number>()
    let most = 0
    for (let seen = 0, answered = 0; answered < sent.length; ) {
      if (open.size === 0) await waiting(world, seen + 1)
      else await new Promise((resolve) => setImmediate(resolve))
      for (; seen < world.ran.length; seen++) {
        const [command, name] = world.ran[seen]!.split(' ')
        for (const each of open) {
          const [earlier, same] = world.ran[each]!.split(' ')
          assert.ok(name !== same || (command === 'draw' && earlier === 'draw'), `${seen} beside ${each}`)
        }
        open.add(seen)
      }
      most = Math.max(most, open.size)
      const one = [...open][below(open.size)]!
      open.delete(one)
      world.waits[one]!(`${one}`)
      answered++
    }
    assert.deepEqual(world.ran, sent)
    assert.ok(most > 2, 'they wait together')
    await peer.expect(sent.map((_, at) => text(`${at}`)).join(''))
  })
})

describe('whether this node may issue', () => {
  test('is looked at in every callback that brings requests, once, before the first of them', async (test) => {
    const looks: number[] = []
    const counter = () => Number(world.counter('n').next)
    const { world, peer } = await connect(test, {
      mayIssue: () => {
        looks.push(counter())
        return true
      },
    })
    await peer.ask(frame('INCR', 'n').repeat(3), ':1\r\n:2\r\n:3\r\n')
    await peer.ask(frame('INCR', 'n').repeat(2), ':4\r\n:5\r\n')
    assert.deepEqual(looks, [1, 4])
  })

  test('is checked again when requests continue after one that waited', async (test) => {
    let looks = 0
    const { world, peer } = await connect(test, { mayIssue: () => ++looks > 0 })
    peer.send(frame('WAIT') + frame('INCR', 'n'))
    await waiting(world, 1)
    const before = looks
    await world.release('1')
    await peer.expect(`${text('1')}:1\r\n`)
    assert.ok(looks > before)
  })
})
