import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Decoder, type DecoderLimits } from '../../../src/resp/request-decoder.ts'

const limits: DecoderLimits = {
  inlineMaxBytes: 64,
  bulkMaxBytes: 32,
  argumentsMax: 4,
  requestMaxBytes: 100,
}
const unauthenticated: DecoderLimits = { ...limits, unauthenticated: true }

/** The requests in these chunks, then what came after them. */
function decode(chunks: readonly Buffer[], inForce = limits): (string[] | string)[] {
  const decoder = new Decoder(inForce)
  const found: (string[] | string)[] = []
  for (const chunk of chunks) {
    decoder.push(chunk)
    let step = decoder.next()
    for (; step === 'frame'; step = decoder.next()) found.push(decoder.parts().map(latin1))
    if (step !== 'more') return [...found, step === 'error' ? decoder.failure : step]
    assert.ok(decoder.pendingBytes <= inForce.requestMaxBytes + inForce.inlineMaxBytes)
  }
  return [...found, decoder.pendingBytes === 0 ? 'nothing left' : 'unfinished']
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

function bytesOf(text: string): Buffer[] {
  return [...Buffer.from(text, 'latin1')].map((byte) => Buffer.from([byte]))
}

const ping = '*1\r\n$4\r\nPING\r\n'
const long = 'x'.repeat(40)
const cases: readonly (readonly [name: string, input: string, expected: (string[] | string)[]])[] = [
  ['an array of bulk strings', '*2\r\n$4\r\nINCR\r\n$1\r\na\r\n', [['INCR', 'a'], 'nothing left']],
  ['a pipeline', ping + ping, [['PING'], ['PING'], 'nothing left']],
  ['an empty argument', '*2\r\n$3\r\nGET\r\n$0\r\n\r\n', [['GET', ''], 'nothing left']],
  ['line ends inside an argument', '*1\r\n$4\r\n\r\n\r\n\r\n', [['\r\n\r\n'], 'nothing left']],
  ['an array cut off', ping + ping.slice(0, -1), [['PING'], 'unfinished']],
  ['a header cut off', '*1\r', ['unfinished']],
  ['whatever two bytes end an argument', '*1\r\n$4\r\nPINGabPING\r\n', [['PING'], ['PING'], 'nothing left']],
  ['an inline command', 'PING a\r\n', [['PING', 'a'], 'nothing left']],
  ['an inline command that ends in LF alone', 'PING\n', [['PING'], 'nothing left']],
  ['both kinds in turn', `PING\r\n${ping}PING\n`, [['PING'], ['PING'], ['PING'], 'nothing left']],
  ['empty lines', '\r\n\n \r\nPING\r\n', [['PING'], 'nothing left']],
  ['empty arrays', `*0\r\n*-1\r\n*-10\r\n${ping}`, [['PING'], 'nothing left']],
  ['an array of no length', '*\r\n', ['Protocol error: invalid multibulk length']],
  ['an array of no number', '*x\r\n', ['Protocol error: invalid multibulk length']],
  ['a leading zero', '*01\r\n', ['Protocol error: invalid multibulk length']],
  ['a minus zero', '*-0\r\n', ['Protocol error: invalid multibulk length']],
  ['a plus', '*+1\r\n', ['Protocol error: invalid multibulk length']],
  ['too many arguments', '*5\r\n', ['Protocol error: invalid multibulk length']],
  ['far too many arguments', '*99999999999999999999\r\n', ['Protocol error: invalid multibulk length']],
  ['no dollar', '*1\r\nPING\r\n', ["Protocol error: expected '$', got 'P'"]],
  ['no dollar later', '*2\r\n$1\r\nx\r\nfooz\r\n', ["Protocol error: expected '$', got 'f'"]],
  ['a negative argument', '*1\r\n$-1\r\n', ['Protocol error: invalid bulk length']],
  ['an argument of no number', '*1\r\n$x\r\n', ['Protocol error: invalid bulk length']],
  ['an argument of no length', '*1\r\n$\r\n', ['Protocol error: invalid bulk length']],
  ['the longest argument', `*1\r\n$32\r\n${'x'.repeat(32)}\r\n`, [['x'.repeat(32)], 'nothing left']],
  ['an argument too long', '*1\r\n$33\r\n', ['Protocol error: invalid bulk length']],
  [
    'a request too long',
    `*4\r\n${`$30\r\n${'x'.repeat(30)}\r\n`.repeat(4)}`,
    ['Protocol error: too big request'],
  ],
  ['a header without end', `*${'1'.repeat(65)}`, ['Protocol error: too big mbulk count string']],
  ['a length without end', `*1\r\n$${'1'.repeat(65)}`, ['Protocol error: too big bulk count string']],
  ['the longest line', `${'x'.repeat(64)}\n`, [['x'.repeat(64)], 'nothing left']],
  ['a line too long', `${'x'.repeat(65)}\n`, ['Protocol error: too big inline request']],
  ['a line without end', 'x'.repeat(65), ['Protocol error: too big inline request']],
  ['a line of too many words', 'a b c d e\n', ['Protocol error: too big inline request']],
  ['an open quote', 'PING "x\r\n', ['Protocol error: unbalanced quotes in request']],
  [
    'requests before an error',
    `${ping}*x\r\n${ping}`,
    [['PING'], 'Protocol error: invalid multibulk length'],
  ],
  ['an HTTP POST', 'POST / HTTP/1.1\r\nPING\r\n', ['http']],
  ['an HTTP GET', `${ping}GET /incr HTTP/1.1\r\nHost: x\r\n`, [['PING'], 'http']],
  ["HTTP's Host", 'hOsT: localhost\r\n', ['http']],
  ['a key that says HTTP', 'GET HTTP\r\n', [['GET', 'HTTP'], 'nothing left']],
  [
    'arguments that need an own buffer',
    `*3\r\n${`$20\r\n${'y'.repeat(20)}\r\n`.repeat(3)}`,
    [['y'.repeat(20), 'y'.repeat(20), 'y'.repeat(20)], 'nothing left'],
  ],
]

describe('decoding requests', () => {
  for (const [name, input, expected] of cases) {
    test(`${name}, whole and byte by byte`, () => {
      assert.deepEqual(decode([Buffer.from(input, 'latin1')]), expected)
      assert.deepEqual(decode(bytesOf(input)), expected)
    })
  }

  test('names the limits that hold before AUTH', () => {
    assert.deepEqual(decode([Buffer.from('*5\r\n')], unauthenticated), [
      'Protocol error: unauthenticated multibulk length',
    ])
    assert.deepEqual(decode([Buffer.from('*1\r\n$33\r\n')], unauthenticated), [
      'Protocol error: unauthenticated bulk length',
    ])
  })

  test('names no limit before AUTH for a length that Redis accepts from no client', () => {
    for (const [request, what] of [
      ['*2147483648\r\n', 'multibulk'],
      ['*1\r\n$536870913\r\n', 'bulk'],
    ]) {
      const error = `Protocol error: invalid ${what} length`
      assert.deepEqual(decode([Buffer.from(request!)], unauthenticated), [error])
    }
  })

  test('follows a change of limits from the next request on', () => {
    const decoder = new Decoder(limits)
    decoder.push(Buffer.from(`${ping}*1\r\n$40\r\n${long}\r\n`))
    assert.equal(decoder.next(), 'frame')
    decoder.limits = { ...limits, bulkMaxBytes: 40 }
    assert.equal(decoder.next(), 'frame')
    assert.deepEqual(decoder.parts().map(latin1), [long])
  })

  test('keeps arguments true when more bytes are pushed', () => {
    const decoder = new Decoder(limits)
    const kept: Uint8Array[] = []
    const bytes = '*2\r\n$4\r\nINCR\r\n$3\r\nabc\r\n'.repeat(20)
    for (let start = 0; start < bytes.length; start += 7) {
      decoder.push(Buffer.from(bytes.slice(start, start + 7)))
      while (decoder.next() === 'frame') kept.push(...decoder.parts())
    }
    assert.deepEqual(kept.map(latin1), Array.from({ length: 20 }, () => ['INCR', 'abc']).flat())
  })

  test('decodes nothing after an error', () => {
    const decoder = new Decoder(limits)
    decoder.push(Buffer.from('*x\r\n'))
    assert.equal(decoder.next(), 'error')
    decoder.push(Buffer.from(ping))
    assert.equal(decoder.next(), 'error')
  })
})

test('bytes that are skipped are decoded, also those that were pushed before them in part', () => {
  const decoder = new Decoder(limits)
  const frame = Buffer.from(ping)
  decoder.push(frame.subarray(0, 9))
  assert.equal(decoder.next(), 'more')
  assert.equal(decoder.isBetween, false)
  decoder.push(Buffer.concat([frame.subarray(9), frame, Buffer.from('*1\r\n$4\r\nECHO\r\n')]))
  assert.equal(decoder.next(), 'frame')
  assert.equal(decoder.isBetween, true)
  assert.equal(latin1(decoder.bytes.subarray(decoder.at, decoder.at + frame.length)), ping)
  assert.equal(decoder.view.getUint8(decoder.at), 42)
  decoder.skipTo(decoder.at + frame.length)
  assert.equal(decoder.next(), 'frame')
  assert.deepEqual(decoder.parts().map(latin1), ['ECHO'])
  assert.equal(decoder.at, decoder.end)
})

const words = fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { minLength: 1, maxLength: 4 })
const frames = words.map(
  (parts) =>
    `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`,
)
const mutated = fc
  .tuple(frames, fc.nat(), fc.constantFrom('', '\r', '\n', '$', '*', '-', '0', '9', 'x', '\0'))
  .map(
    ([frame, at, bytes]) => frame.slice(0, at % frame.length) + bytes + frame.slice((at % frame.length) + 1),
  )
const lines = fc.string({
  unit: fc.constantFrom('a', ' ', '"', "'", '\\', 'x', '4', '\t', '\0'),
  maxLength: 70,
})
const anything = fc.uint8Array({ maxLength: 80 }).map(latin1)
const streams = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: frames },
      mutated,
      lines.map((line) => `${line}\r\n`),
      anything,
    ),
    { maxLength: 6 },
  )
  .map((pieces) => Buffer.from(pieces.join('')))

describe('any bytes, in any pieces', () => {
  test('the decoder never throws, holds no more than it may, and finds the same', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 }), (stream, sizes) => {
        const whole = decode([Buffer.from(stream)])
        const chunks: Buffer[] = []
        let start = 0
        for (const size of sizes) {
          chunks.push(Buffer.from(stream.subarray(start, start + size)))
          start += size
        }
        chunks.push(Buffer.from(stream.subarray(start)))
        assert.deepEqual(decode(chunks), whole)
        assert.deepEqual(decode([...stream].map((byte) => Buffer.from([byte]))), whole)
      }),
      { numRuns: 3000 },
    )
  })

  test('valid requests come out as they went in', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 8 }), fc.integer({ min: 1, max: 50 }), (requests, size) => {
        const stream = Buffer.from(
          requests
            .map(
              (parts) =>
                `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`,
            )
            .join(''),
        )
        const chunks: Buffer[] = []
        for (let start = 0; start < stream.length; start += size) {
          chunks.push(Buffer.from(stream.subarray(start, start + size)))
        }
        const wide = { inlineMaxBytes: 1000, bulkMaxBytes: 1000, argumentsMax: 10, requestMaxBytes: 10_000 }
        const found = decode(chunks, wide).slice(0, -1)
        const expected = requests.map((parts) => parts.map((part) => latin1(Buffer.from(part))))
        assert.deepEqual(found, expected)
      }),
    )
  })
})
