import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Moved } from '../../../src/base/moved.ts'
import type { NodeRecord } from '../../../src/cluster/records.ts'
import type { ClusterListener } from '../../../src/cluster/shell.ts'
import { Forwarder, NoReply } from '../../../src/forwarding/forwarder.ts'
import type { ClusterView } from '../../../src/operations/context.ts'

const first = leaderAt('first')
const lost = new NoReply('lost', 'first:1', 'read ECONNRESET')
const unsent = new NoReply('unsent', 'first:1', 'connection refused')

type Setup = {
  /** What each lookup of the leader finds: a node, `here` or `none`; the last one stays. `gone`: the excluded node. */
  readonly leaders: readonly string[] | ((gone: string | undefined) => string)
  /** The reply of a node; `not led` is a refusal. Throws what a transport does. */
  readonly send?: (node: string) => string
  readonly handle?: () => string
  readonly onlyDraws?: boolean
  readonly isForwarded?: boolean
  readonly forwards?: boolean
}

function start(setup: Setup) {
  const { leaders, send = (node) => node, handle = () => 'here' } = setup
  const { onlyDraws = false, isForwarded = false, forwards = true } = setup
  const sends: string[] = []
  const abandoned: string[] = []
  const found = typeof leaders === 'function' ? [] : [...leaders]
  let listener: ClusterListener = {}
  const lookUp = (gone: string | undefined) => {
    const state =
      typeof leaders === 'function' ? leaders(gone) : found.length > 1 ? found.shift()! : found[0]!
    if (state === 'here' || state === 'none') return { state }
    return { state: 'elsewhere', node: { id: state, resp: `${state}:1`, http: undefined } }
  }
  const cluster = {
    leadWithin: async (_slot: number, _waitMs: number, sentHere: boolean, gone?: string) => {
      assert.equal(sentHere, true)
      return lookUp(gone)
    },
    listen: (given: ClusterListener) => {
      listener = given
      return () => {
        listener = {}
      }
    },
  } as unknown as ClusterView
  const forwarder = new Forwarder<string, string, string>(
    cluster,
    {
      protocol: 'resp',
      handle,
      async send(_, address) {
        const node = address.replace(':1', '')
        sends.push(node)
        return send(node)
      },
      deliver: (_, reply) => reply,
      isNotLed: (reply) => reply === 'not led',
      onlyDraws: () => onlyDraws,
      isForwarded: () => isForwarded,
      abandon: (address) => abandoned.push(address),
      close: () => abandoned.push('all'),
    },
    forwards,
  )
  const isDead = (record: object) => listener.onDead?.(record as NodeRecord)
  return { forwarder, sends, abandoned, isDead, forward: () => forwarder.forward('request', first) }
}

function leaderAt(node: string) {
  return { node, slot: 1234, resp: `${node}:1`, http: undefined }
}

function moved(node: string): never {
  throw new Moved(leaderAt(node))
}

async function code(reply: unknown): Promise<string> {
  return Promise.resolve(reply).then(
    () => 'none',
    (error) => error.code,
  )
}

describe('a request that a handler refuses as MOVED', () => {
  test('is forwarded, or refused where nothing is forwarded', async () => {
    const handle = () => moved('first')
    const { forwarder } = start({ leaders: ['first'], handle })
    assert.equal(await forwarder.handle('request'), 'first')
    assert.throws(() => start({ leaders: ['first'], handle, forwards: false }).forwarder.handle('request'), {
      code: 'MOVED',
    })
  })

  test('is answered by the node to which another has forwarded it, or goes no further', async () => {
    let isLeader = false
    const handle = () => (isLeader ? 'here' : moved('second'))
    const leaders = () => {
      isLeader = true
      return 'here'
    }
    const { forwarder, sends } = start({ leaders, handle, isForwarded: true })
    assert.equal(await forwarder.handle('request'), 'here')
    for (const leader of ['here', 'second', 'none']) {
      const refused = start({ leaders: [leader], handle: () => moved('second'), isForwarded: true })
      assert.equal(await code(refused.forwarder.handle('request')), 'CLUSTERDOWN')
      assert.deepEqual(refused.sends, [])
    }
    assert.deepEqual(sends, [])
  })
})

test('a request whose leader does not lead goes to the leader that a lookup finds, once', async () => {
  const send = (node: string) => (node === 'second' ? 'reply' : 'not led')
  assert.equal(await start({ leaders: ['second'], send }).forward(), 'reply')
  assert.equal(await start({ leaders: ['here'], send }).forward(), 'here')
  const { forward, sends } = start({ leaders: ['first', 'second'], send })
  assert.equal(await forward(), 'not led')
  assert.deepEqual(sends, ['first', 'first'])
  assert.equal(await start({ leaders: ['none'], send }).forward(), 'not led')
})

describe('a request whose leader cannot be reached', () => {
  test('goes to its successor, and on from there', async () => {
    const send = (node: string) => {
      if (node === 'first') throw unsent
      return node === 'second' ? 'not led' : node
    }
    assert.equal(await start({ leaders: ['second', 'third'], send }).forward(), 'third')
  })

  test('is refused as CLUSTERDOWN if no other node leads in time, and fails at a second such node', async () => {
    const send = () => {
      throw unsent
    }
    for (const leader of ['first', 'none']) {
      await assert.rejects(start({ leaders: [leader], send }).forward(), {
        code: 'CLUSTERDOWN',
        message: /^the leader at first:1 cannot be reached .*, and no other node took over in time; retry$/,
      })
    }
    assert.equal(await code(start({ leaders: ['second'], send }).forward()), 'UNAVAILABLE')
  })
})

describe('a request whose reply was lost', () => {
  const send = (node: string) => {
    if (node === 'first') throw lost
    return node
  }

  test('is repeated if it only draws ids', async () => {
    assert.equal(await start({ leaders: ['second'], send, onlyDraws: true }).forward(), 'second')
    assert.equal(await start({ leaders: ['here'], send, onlyDraws: true }).forward(), 'here')
    assert.equal(await code(start({ leaders: ['second'], send }).forward()), 'UNKNOWN')
    const late = () => {
      throw new NoReply('late', 'first:1', 'no reply for 100 ms')
    }
    assert.equal(await code(start({ leaders: ['second'], send: late, onlyDraws: true }).forward()), 'UNKNOWN')
  })

  test('goes to a successor if the same leader loses the reply twice, because it is being killed', async () => {
    const draw = (successor: string) => {
      const leaders = (gone: string | undefined) => (gone === undefined ? 'first' : successor)
      return start({ leaders, send, onlyDraws: true }).forward()
    }
    assert.equal(await draw('second'), 'second')
    assert.equal(await draw('here'), 'here')
    assert.equal(await code(draw('none')), 'UNKNOWN')
  })

  test('is not repeated a second time at another leader', async () => {
    const always = () => {
      throw lost
    }
    const { forward, sends } = start({ leaders: ['second'], send: always, onlyDraws: true })
    assert.equal(await code(forward()), 'UNKNOWN')
    assert.deepEqual(sends, ['first', 'second'])
  })

  test('follows a leadership that moves on while it is repeated here', async () => {
    const draw = (reply: (node: string) => string) =>
      start({ leaders: ['here'], send: reply, handle: () => moved('third'), onlyDraws: true }).forward()
    assert.equal(await draw(send), 'third')
    assert.equal(
      await code(
        draw(() => {
          throw lost
        }),
      ),
      'UNKNOWN',
    )
  })
})

test('every retry happens once, so that a request is sent five times at most', async () => {
  const replies = ['not led', lost, lost, unsent, lost]
  const { forward, sends } = start({
    leaders: (gone) => (gone === undefined ? 'first' : gone === 'first' ? 'second' : 'third'),
    send() {
      const reply = replies.shift()!
      if (typeof reply === 'string') return reply
      throw reply
    },
    onlyDraws: true,
  })
  assert.equal(await code(forward()), 'UNKNOWN')
  assert.deepEqual(sends, ['first', 'first', 'first', 'second', 'third'])
})

test('the requests that wait for a node are abandoned when the node is declared dead, until the forwarder is closed', () => {
  const { forwarder, abandoned, isDead } = start({ leaders: ['none'] })
  isDead({ http: 'first:2' })
  isDead({ resp: 'first:1' })
  forwarder.close()
  isDead({ resp: 'first:1' })
  assert.deepEqual(abandoned, ['first:1', 'all'])
})
