import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { ReplyForm } from '../../../src/proxy/exchange.ts'
import { type Holding, type Judgement, PacketWalker } from '../../../src/proxy/packet-walker.ts'
import { Replies, type ReplyHost } from '../../../src/proxy/replies.ts'

/**
 * Holds packets whose payload begins with `h`, suspends after those that begin with `hs`, stops at `s`, and adds 1 to the sequence numbers of those that begin with `n`.
 */
class Recorder extends PacketWalker {
  readonly judged: number[] = []
  readonly held: string[] = []
  readonly wholes: Buffer[] = []
  readonly out: Buffer[] = []
  heldMax = Number.POSITIVE_INFINITY
  tooLong: Holding = 'pass'

  protected judge(bytes: Buffer, at: number, length: number): Judgement {
    this.judged.push(length)
    this.sequenceShift = length > 0 && bytes[at + 4] === 110 ? 1 : 0
    if (length > 0 && bytes[at + 4] === 115) return 'stop'
    return length > 0 && bytes[at + 4] === 104 ? 'hold' : 'pass'
  }
  protected pass(bytes: Buffer): void {
    assert.ok(bytes.length > 0)
    this.out.push(bytes)
  }
  protected passed(): boolean {
    return true
  }
  protected insert(): void {
    this.out.push(Buffer.from('|'))
  }
  protected whole(bytes: Buffer): void {
    this.held.push(bytes.toString('latin1', 4))
    this.wholes.push(bytes)
    this.out.push(Buffer.from('[held]'))
    this.isSuspended = bytes[5] === 115
  }
  protected holding(heldBytes: number): Holding {
    return heldBytes <= this.heldMax ? 'hold' : this.tooLong
  }
  protected dropped(start: Buffer, sequence: number): void {
    this.out.push(Buffer.from(`[${start.toString('latin1', 4, 6)} dropped, ${sequence}]`))
  }
  protected stopped(): void {
    this.out.push(Buffer.from('[stopped]'))
  }
}

function packet(payload: string): Buffer {
  const bytes = Buffer.from(`    ${payload}`, 'latin1')
  bytes.writeUInt32LE(payload.length)
  return bytes
}

function walked(chunks: readonly Buffer[]): Recorder {
  const walker = new Recorder()
  for (const chunk of chunks) {
    walker.walk(chunk)
    while (walker.isSuspended) walker.resume()
  }
  return walker
}

/** Counts the bytes that are copied from one buffer to another. */
function countCopied(t: TestContext): () => number {
  const { copy } = Buffer.prototype
  const { concat } = Buffer
  let copied = 0
  t.mock.method(Buffer.prototype, 'copy', function (this: Buffer, ...given: Parameters<typeof copy>) {
    const bytes = copy.apply(this, given)
    copied += bytes
    return bytes
  })
  t.mock.method(Buffer, 'concat', (...given: Parameters<typeof concat>) => {
    const joined = concat(...given)
    copied += joined.length
    return joined
  })
  return () => copied
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

/** Sizes of chunks that cut the headers before and behind a long part, and such that cut the part into many. */
function sizesFor({ length }: Buffer): number[][] {
  return [[3, 3, 3, length - 6, 3, 3, 3, 3], [100_000]]
}

describe('a walk over packets', () => {
  const payloads = fc.array(
    fc
      .tuple(fc.constantFrom('', 'h', 'hs', 'x'), fc.integer({ min: 0, max: 60 }))
      .map(([head, more]) => head + '.'.repeat(more)),
    { minLength: 1, maxLength: 12 },
  )

  test('sees the same packets and passes the same bytes, however they are cut', () => {
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1 }), (texts, sizes) => {
        const walker = walked(cut(Buffer.concat(texts.map(packet)), sizes))
        assert.deepEqual(
          walker.judged,
          texts.map(({ length }) => length),
        )
        assert.deepEqual(
          walker.held,
          texts.filter((text) => text.startsWith('h')),
        )
        const expected = texts.map((text) =>
          text.startsWith('h') ? Buffer.from('[held]') : Buffer.concat([packet(text), Buffer.from('|')]),
        )
        assert.equal(Buffer.concat(walker.out).toString('latin1'), Buffer.concat(expected).toString('latin1'))
        assert.ok(walker.isBetweenPackets)
      }),
    )
  })

  test('judges a payload of several parts once, and holds it whole', () => {
    for (const first of ['x', 'h']) {
      const part = Buffer.alloc(4 + 0xff_ff_ff, first)
      part.writeUInt32LE(0xff_ff_ff)
      const walker = walked(cut(Buffer.concat([part, packet('hend'), packet('')]), [65_536, 3]))
      assert.deepEqual(walker.judged, [0xff_ff_ff, 0])
      assert.equal(walker.held.length, first === 'h' ? 1 : 0)
    }
  })

  test('keeps none of the chunks of a packet that it holds, and at most twice their bytes', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const walker = new Recorder()
    const bytes = packet(`h${'.'.repeat(2000)}`)
    const chunks: WeakRef<Buffer>[] = []
    for (const byte of bytes.subarray(0, -1)) {
      const chunk = Buffer.allocUnsafeSlow(1).fill(byte)
      chunks.push(new WeakRef(chunk))
      walker.walk(chunk)
    }
    // A weak reference holds its target until the present task ends.
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    assert.ok(walker.heldBytes >= bytes.length - 1 && walker.heldBytes <= 2 * bytes.length)
    const kept = chunks.filter((chunk) => chunk.deref() !== undefined).length
    assert.ok(kept < 10, `${kept} chunks`)
    walker.walk(bytes.subarray(-1))
    const [whole] = walker.wholes
    assert.deepEqual(whole, bytes)
    assert.ok(whole!.buffer.byteLength <= 2 * bytes.length)
    assert.equal(walker.heldBytes, 0)
  })

  test('copies nothing of a packet that arrives whole, and each byte of one in two chunks once', (t) => {
    const copied = countCopied(t)
    const bytes = packet(`h${'.'.repeat(1000)}`)
    const walker = walked([bytes])
    assert.equal(copied(), 0)
    assert.equal(walker.wholes[0], bytes)
    walked([bytes.subarray(0, 400), bytes.subarray(400)])
    assert.equal(copied(), bytes.length)
  })

  test('copies a few times what arrives behind a packet at which it is suspended, in chunks of any size', (t) => {
    const walker = new Recorder()
    const behind = Buffer.concat([packet('x'.repeat(3000)), packet('h')])
    walker.walk(packet('hs'))
    const copied = countCopied(t)
    for (const chunk of cut(behind, [1])) walker.walk(chunk)
    assert.ok(walker.heldBytes >= behind.length && walker.heldBytes <= 2 * behind.length)
    walker.resume()
    assert.deepEqual(walker.held, ['hs', 'h'])
    assert.ok(copied() <= 3 * behind.length, `${copied()} bytes`)
  })

  test('passes nothing on from the packet on at which it stops', () => {
    const bytes = Buffer.concat([packet('x'), packet('stop'), packet('h1'), Buffer.from('junk')])
    for (const size of [1, 3, 6, 100]) {
      const walker = walked(cut(bytes, [size]))
      assert.equal(
        Buffer.concat(walker.out).toString('latin1').replace('|', ''),
        `${packet('x').toString('latin1')}[stopped]`,
      )
    }
  })

  test('numbers all parts of a packet anew', () => {
    const part = Buffer.alloc(4 + 0xff_ff_ff, 'n')
    part.writeUInt32LE(0xff_ff_ff + 255 * 2 ** 24)
    for (const sizes of sizesFor(part)) {
      const walker = walked(cut(Buffer.concat([part, packet('x'), packet('x')]), sizes))
      const out = Buffer.concat(walker.out)
      assert.deepEqual([out[3], out[part.length + 3], out.at(-3)], [0, 1, 0])
    }
  })

  test('passes a packet that is too long to be held, as it came, and goes on behind it', () => {
    const bytes = Buffer.concat([packet(`h${'x'.repeat(60)}`), packet('y'), packet('h')])
    for (const size of [1, 7, 1000]) {
      const walker = new Recorder()
      walker.heldMax = 50
      for (const chunk of cut(bytes, [size])) walker.walk(chunk)
      const out = Buffer.concat(walker.out).toString('latin1').replaceAll('|', '')
      assert.equal(out, `${bytes.toString('latin1', 0, 70)}[held]`)
    }
  })

  test('drops a packet that is too long to be held, and says which number a reply has', () => {
    const part = Buffer.alloc(4 + 0xff_ff_ff, 'h')
    part.writeUInt32LE(0xff_ff_ff + 7 * 2 ** 24)
    const end = packet('end')
    end[3] = 8
    for (const sizes of sizesFor(part)) {
      const walker = new Recorder()
      Object.assign(walker, { heldMax: 50, tooLong: 'drop' })
      for (const chunk of cut(Buffer.concat([packet('x'), part, end, packet('y')]), sizes)) walker.walk(chunk)
      const out = Buffer.concat(walker.out).toString('latin1').replaceAll('|', '')
      assert.equal(out, `${packet('x')}[hh dropped, 9]${packet('y')}`)
      assert.equal(walker.heldBytes, 0)
    }
  })

  test('passes the beginning of a packet that never comes', () => {
    const walker = walked([packet('x'), Buffer.from([9, 0])])
    walker.finish()
    assert.equal(Buffer.concat(walker.out).toString('latin1'), '\x01\0\0\0x|\x09\0')
  })
})

/** What the replies of a client without flags need; `own` replaces some of it. */
function replyHost(out: Uint8Array[], own: Partial<ReplyHost> = {}): ReplyHost {
  return {
    toClient: (bytes) => void out.push(bytes),
    clientSends: () => {},
    lost: () => assert.fail('it was lost'),
    ...own,
  }
}

describe('the replies', () => {
  const ok = (status: number) => Buffer.from([7, 0, 0, 1, 0, 0, 0, status, 0, 0, 0])
  const eof = (status: number) => Buffer.from([5, 0, 0, 1, 0xfe, 0, 0, status, 0])
  const error = packet('\xff\x15\x04#42000no')
  const progress = packet('\xff\xff\xff\x01')
  const results = [packet('\x01'), packet('\x03def'), eof(2), packet('\x01a')]
  const prepared = Buffer.from([12, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0])

  const cases: [name: string, form: ReplyForm, packets: Buffer[]][] = [
    ['OK', 'results', [ok(2)]],
    ['ERR', 'results', [error]],
    ['rows', 'results', [...results, eof(2)]],
    ['rows that end with an error', 'results', [...results, error]],
    ['reports of progress', 'results', [progress, ...results, progress, progress, eof(2)]],
    ['several results', 'results', [...results, eof(8), ok(8), ...results, eof(0)]],
    ['a cursor', 'results', [packet('\x01'), packet('\x03def'), eof(66)]],
    ['fetched rows', 'rows', [packet('\0a'), packet('\0b'), eof(2)]],
    [
      'a prepared statement',
      'prepare',
      [prepared, packet('\x03def'), packet('\x03def'), eof(2), packet('\x03def'), eof(2)],
    ],
    ['a refused statement', 'prepare', [error]],
    ['a word', 'packet', [packet('Uptime: 1')]],
    ['an exchange', 'authentication', [packet('\xfeplugin\0'), packet('\x01\x03'), ok(2)]],
  ]

  for (const [name, form, packets] of cases) {
    test(`recognise the end of ${name}, byte by byte too`, () => {
      for (const size of [1, 7, 1000]) {
        const out: Uint8Array[] = []
        const replies = new Replies(false, 2, replyHost(out))
        const own = Buffer.from('own reply')
        replies.expect(form)
        const bytes = Buffer.concat(packets)
        // A client that logs in again sends nothing else meanwhile.
        if (form === 'authentication') for (const chunk of cut(bytes, [size])) replies.walk(chunk)
        replies.answer(own)
        replies.expect('packet')
        const rest = form === 'authentication' ? ok(2) : Buffer.concat([bytes, ok(2)])
        for (const chunk of cut(rest, [size])) replies.walk(chunk)
        assert.equal(replies.outstanding, 0)
        assert.equal(
          Buffer.concat(out).toString('latin1'),
          Buffer.concat([bytes, own, ok(2)]).toString('latin1'),
        )
      }
    })
  }

  test('that answer nothing end the connection, unless they are errors', () => {
    const out: Uint8Array[] = []
    const lost: number[] = []
    const replies = new Replies(false, 2, replyHost(out, { lost: (sequence) => void lost.push(sequence) }))
    replies.walk(error)
    assert.deepEqual([Buffer.concat(out), lost], [error, []])
    replies.expect('packet')
    replies.filter({ form: 'results', receives: 'all', bytesMax: 700, packet: () => undefined })
    replies.walk(Buffer.concat([ok(2), packet('')]))
    assert.deepEqual([Buffer.concat(out), lost], [Buffer.concat([error, ok(2)]), [0]])
  })

  test('to a question that are too long, or for which there is no file, end the connection', () => {
    const long = Buffer.concat([packet('\x01'), packet('\x03def'), eof(2), packet(`\xfa${'a'.repeat(250)}`)])
    for (const bytes of [long, packet('\xfbname')]) {
      for (const size of [1, 1000]) {
        const out: Uint8Array[] = []
        const lost: number[] = []
        const host = replyHost(out, { lost: (sequence) => void lost.push(sequence) })
        const replies = new Replies(false, 2, host)
        const read = () => undefined
        replies.filter({ form: 'results', receives: 'all', bytesMax: 700, packet: read })
        for (const chunk of cut(Buffer.concat([bytes, ...Array(9).fill(eof(2))]), [size])) replies.walk(chunk)
        assert.deepEqual([out, lost], [[], [1]])
      }
    }
  })
})
