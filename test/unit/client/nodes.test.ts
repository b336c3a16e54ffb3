/** The way of a request to a node: what is sent again, where, and for how long. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Redirected } from '../../../client/src/link.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { settled } from '../fake-clock.ts'
import { FakeService, plainRequest, stateOf, unavailable } from './fake-service.ts'

describe('a request', () => {
  test('ends when its caller stops waiting, also while a node is asked, and is not sent after that', async () => {
    const service = new FakeService()
    const reply = Promise.withResolvers<unknown>()
    service.answer = () => reply.promise
    const caller = new AbortController()
    const asked = service.nodes.send(plainRequest(), { signal: caller.signal })
    await settled()
    assert.equal(await stateOf(asked), undefined)
    caller.abort()
    await assert.rejects(asked, { name: 'AbortError' })
    await assert.rejects(service.nodes.send(plainRequest(), { signal: caller.signal }), {
      name: 'AbortError',
    })
    reply.resolve(Promise.reject(unavailable()))
    await service.clock.pass(10_000)
    assert.equal(service.sent.length, 1)
  })

  test('goes to one node as long as that answers, and a client starts at any of its nodes', async () => {
    for (const [random, node] of [
      [0, 'a:1'],
      [0.34, 'b:2'],
      [0.99, 'c:3'],
    ] as const) {
      const service = new FakeService({ random: () => random })
      service.answer = () => 'reply'
      assert.equal(await service.send(plainRequest()), 'reply')
      await service.send(plainRequest())
      assert.deepEqual(service.asked, [node, node])
    }
  })

  test('goes to each other node without a pause when a node does not answer', async () => {
    const service = new FakeService()
    service.answer = ({ node }) => {
      if (node === 'c:3') return 'reply'
      throw unavailable()
    }
    assert.equal(await service.send(plainRequest()), 'reply')
    assert.deepEqual(service.asked, ['a:1', 'b:2', 'c:3'])
    assert.deepEqual(service.failed, ['a:1', 'b:2'])
    assert.equal(service.clock.mono, 0)
    await service.send(plainRequest())
    assert.equal(service.asked.at(-1), 'c:3')
  })

  test('is not sent again when the answer is one that no retry changes', async () => {
    const service = new FakeService()
    service.answer = () => {
      throw new FahaoError('NOPERM', 'ask an operator')
    }
    await assert.rejects(service.send(plainRequest()), { code: 'NOPERM' })
    assert.equal(service.sent.length, 1)
    assert.deepEqual(service.failed, [])
  })

  test('goes to the owner of a store, where there are several nodes', async () => {
    const notOwner = () => {
      throw new FahaoError('NOTOWNER', 'ask the owner')
    }
    const many = new FakeService()
    many.answer = (sent) => (sent.node === 'b:2' ? 'reply' : notOwner())
    assert.equal(await many.send(plainRequest()), 'reply')
    const one = new FakeService({ urls: [new URL('redis://a:1')] })
    one.answer = notOwner
    await assert.rejects(one.send(plainRequest()), { code: 'NOTOWNER' })
    assert.equal(one.sent.length, 1)
  })

  test('leaves a node once, however many requests failed there', async () => {
    const service = new FakeService()
    const end = Promise.withResolvers<void>()
    service.answer = async ({ node }) => {
      if (node !== 'a:1') return node
      await end.promise
      throw unavailable()
    }
    const replies = [service.nodes.send(plainRequest()), service.nodes.send(plainRequest())]
    end.resolve()
    await service.clock.pass(0)
    assert.deepEqual(await Promise.all(replies), ['b:2', 'b:2'])
  })

  test('that fails everywhere is repeated after pauses that grow, and rejects in time with the last error', async () => {
    const service = new FakeService()
    const times: number[] = []
    service.answer = () => {
      times.push(service.clock.mono / 1000)
      throw unavailable()
    }
    const outcome = service.nodes.send(plainRequest())
    const rejected = assert.rejects(outcome, { code: 'UNAVAILABLE' })
    await service.clock.pass(10_000)
    await rejected
    const pauses = times.slice(1).map((time, at) => time - times[at]!)
    assert.deepEqual(pauses.slice(0, 9), [0, 0, 10, 20, 40, 80, 160, 320, 500])
    assert.ok(pauses.slice(9).every((pause) => pause === 500))
    assert.ok(times.at(-1)! < 10_000 && times.at(-1)! >= 9500)
    assert.equal(service.clock.timers, 0)
  })

  test('that meets refusals of an outage only rejects with one code, whatever node was asked last', async () => {
    for (const code of ['CLUSTERDOWN', 'SHUTDOWN'] as const) {
      const service = new FakeService()
      service.answer = () => {
        throw new FahaoError(code, 'for now')
      }
      const outcome = service.nodes.send(plainRequest())
      const rejected = assert.rejects(outcome, {
        code: 'UNAVAILABLE',
        message: /; retry once the service is back$/,
      })
      await service.clock.pass(10_000)
      await rejected
    }
  })

  test('rejects with what a node has said rather than that the rest of the time brought no answer', async () => {
    const service = new FakeService({ urls: [new URL('redis://a:1')] })
    service.answer = ({ limitMs }) => {
      if (limitMs > 2000) throw new FahaoError('UNAVAILABLE', 'its certificate is by another authority')
      throw unavailable()
    }
    const rejected = assert.rejects(service.nodes.reach(4000), {
      code: 'UNAVAILABLE',
      message:
        /^no node has answered for 4000 ms of redis:\/\/a:1 \(its certificate is by another authority\); .*lazyConnect/,
    })
    await service.clock.pass(4000)
    await rejected
    assert.ok(service.sent.at(-1)!.limitMs < 2000)
  })

  test('connects where the user may not ask who it is, and not where its login is refused', async () => {
    const service = new FakeService()
    const refuse = (code: 'NOPERM' | 'WRONGPASS' | 'NOAUTH') => {
      service.answer = () => {
        throw new FahaoError(code, 'no')
      }
    }
    refuse('NOPERM')
    await service.nodes.reach(3000)
    for (const code of ['WRONGPASS', 'NOAUTH'] as const) {
      refuse(code)
      await assert.rejects(service.nodes.reach(3000), { code })
    }
    assert.deepEqual(
      service.sent.map(({ words, limitMs }) => [words.join(' '), limitMs]),
      Array(3).fill(['ACL WHOAMI', 1000]),
    )
  })

  test('connects to a node of an earlier version, which does not know the question', async () => {
    const service = new FakeService({ urls: [new URL('http://a:1')] })
    const earlier = (login: () => unknown) => {
      let asked = 0
      service.answer = () => {
        if (++asked > 1) return login()
        throw new FahaoError('ERR', 'there is nothing at /v1/whoami; GET /docs lists what there is')
      }
    }
    const refuse = (code: 'NOPERM' | 'WRONGPASS') => () => {
      throw new FahaoError(code, 'no')
    }
    earlier(() => ({ generators: [], next: null }))
    await service.nodes.reach(3000)
    earlier(refuse('NOPERM'))
    await service.nodes.reach(3000)
    earlier(refuse('WRONGPASS'))
    await assert.rejects(service.nodes.reach(3000), { code: 'WRONGPASS' })
    service.answer = () => {
      throw new FahaoError('ERR', 'http://a:1/v1/whoami answered HTTP 404 Not Found; check the URL')
    }
    await assert.rejects(service.nodes.reach(3000), { code: 'ERR', message: /check the URL/ })
  })

  test('pauses by chance between half and whole of the limit', async () => {
    const service = new FakeService({ random: () => 0.999, urls: [new URL('redis://a:1')] })
    const outcome = service.nodes.send(plainRequest())
    await service.clock.pass(19)
    assert.equal(service.sent.length, 1)
    service.answer = () => 'reply'
    await service.clock.pass(1)
    assert.equal(await outcome, 'reply')
  })

  test('waits for as long as a node asks, and rejects at once where that is too long', async () => {
    const service = new FakeService({ urls: [new URL('redis://a:1')] })
    service.answer = () => {
      throw new FahaoError('QUOTA', 'wait', { retryAfterMs: 4000 })
    }
    const outcome = service.nodes.send(plainRequest())
    const rejected = assert.rejects(outcome, { code: 'QUOTA' })
    await service.clock.pass(3999)
    assert.equal(service.sent.length, 1)
    await service.clock.pass(4001)
    await rejected
    assert.equal(service.sent.length, 3)
    assert.equal(service.clock.mono, 8_000_000)
  })

  test('gives each try what is left of its time, and at most the limit of one try', async () => {
    const service = new FakeService({ timeoutMs: 5000 })
    service.answer = ({ limitMs }) => {
      service.clock.mono += limitMs * 1000
      service.clock.wall += limitMs * 1000
      throw unavailable()
    }
    await assert.rejects(service.send(plainRequest()), { code: 'UNAVAILABLE' })
    assert.deepEqual(
      service.sent.map(({ limitMs }) => limitMs),
      [3000, 2000],
    )
    service.sent.length = 0
    await assert.rejects(service.send(plainRequest(), { timeoutMs: 100 }), { code: 'UNAVAILABLE' })
    assert.deepEqual(
      service.sent.map(({ limitMs }) => limitMs),
      [100],
    )
  })

  test('ends its pause when its caller aborts', async () => {
    const service = new FakeService({ urls: [new URL('redis://a:1')] })
    const stop = new AbortController()
    const outcome = service.nodes.send(plainRequest(), { signal: stop.signal })
    const rejected = assert.rejects(outcome, { name: 'AbortError' })
    await settled()
    stop.abort()
    await rejected
    assert.equal(service.clock.timers, 0)
    const before = service.sent.length
    await assert.rejects(service.send(plainRequest(), { signal: stop.signal }), { name: 'AbortError' })
    assert.equal(service.sent.length, before)
  })

  test('is asked anew when a copy of this memory is noticed before its reply is', async () => {
    const service = new FakeService()
    const replies = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    service.answer = () => replies[service.sent.length - 1]!.promise
    const outcome = service.nodes.send(plainRequest())
    await settled()
    service.clock.wall += 60_000_000
    replies[0]!.resolve('of both copies')
    await settled()
    assert.equal(await stateOf(outcome), undefined)
    replies[1]!.resolve('of one')
    assert.equal(await outcome, 'of one')
    assert.equal(service.copies.count, 1)
  })
})

describe('a redirection', () => {
  test('is followed at once, and the leader is asked first from then on', async () => {
    const service = new FakeService()
    service.answer = ({ node }) => {
      if (node !== 'd:4') throw new Redirected('MOVED 17 d:4')
      return 'reply'
    }
    assert.equal(await service.send(plainRequest('order')), 'reply')
    await service.send(plainRequest('order'))
    assert.deepEqual(service.asked, ['a:1', 'd:4', 'd:4'])
    assert.deepEqual(service.failed, [])
    service.answer = () => 'reply'
    await service.send(plainRequest('other'))
    assert.equal(service.asked.at(-1), 'a:1')
  })

  test('to an address of IPv6 is followed', async () => {
    const service = new FakeService()
    service.answer = ({ node }) => {
      if (node === 'a:1') throw new Redirected('MOVED 17 ::1:7379')
      return node
    }
    assert.equal(await service.send(plainRequest('order')), '[::1]:7379')
  })

  test('in a circle ends after three, with a pause', async () => {
    const service = new FakeService()
    service.answer = ({ node }) => {
      throw new Redirected(`MOVED 17 ${node === 'd:4' ? 'e:5' : 'd:4'}`)
    }
    const outcome = service.nodes.send(plainRequest('order'))
    const rejected = assert.rejects(outcome, { code: 'UNAVAILABLE', message: /no node can answer \(MOVED/ })
    await settled()
    assert.deepEqual(service.asked.slice(0, 4), ['a:1', 'd:4', 'e:5', 'd:4'])
    await service.clock.pass(10_000)
    await rejected
    assert.ok(service.sent.length < 150, `${service.sent.length} requests`)
  })

  test('that was learned while a request to the leader before was under way is kept', async () => {
    const service = new FakeService()
    const end = Promise.withResolvers<void>()
    let leader = 'd:4'
    service.answer = async ({ node }) => {
      if (node === 'a:1') throw new Redirected(`MOVED 17 ${leader}`)
      if (node === 'e:5') return 'reply'
      if (leader === 'e:5') throw new Redirected('MOVED 17 e:5')
      await end.promise
      throw unavailable()
    }
    const late = service.nodes.send(plainRequest('order'))
    await settled()
    leader = 'e:5'
    await service.send(plainRequest('order'))
    end.resolve()
    await service.clock.pass(20)
    assert.equal(await late, 'reply')
    assert.deepEqual(service.asked, ['a:1', 'd:4', 'd:4', 'e:5', 'e:5'])
  })

  test('to a leader that does not answer is forgotten: the nodes are asked again', async () => {
    const service = new FakeService()
    service.answer = ({ node }) => {
      if (node === 'd:4') throw unavailable()
      if (service.sent.length === 1) throw new Redirected('MOVED 17 d:4')
      return node
    }
    assert.equal(await service.send(plainRequest('order')), 'a:1')
    assert.deepEqual(service.asked, ['a:1', 'd:4', 'a:1'])
  })
})

test('after close nothing is sent, and all connections are ended', async () => {
  const service = new FakeService()
  service.answer = () => 'reply'
  await service.send(plainRequest())
  const late = Promise.withResolvers<string>()
  service.answer = async () => {
    await late.promise
    throw unavailable()
  }
  const pending = service.nodes.send(plainRequest())
  const rejected = assert.rejects(pending, { code: 'SHUTDOWN' })
  service.nodes.close()
  late.resolve('')
  await rejected
  assert.deepEqual(service.closed, ['a:1'])
  await assert.rejects(service.send(plainRequest()), { code: 'SHUTDOWN' })
  assert.equal(service.sent.length, 2)
})
