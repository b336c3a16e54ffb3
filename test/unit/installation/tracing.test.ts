/** Spans, with the SDK of OpenTelemetry and without. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { context, trace } from '@opentelemetry/api'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { FahaoError } from '../../../src/base/errors.ts'
import { openTracing, type Tracing } from '../../../src/installation/tracing.ts'
import { forgetSdk, registerSdk, type Spanned } from '../../launch/spans.ts'

const troubles: string[] = []

async function withSdk(): Promise<{ readonly tracing: Tracing; readonly spans: Spanned[] }> {
  const spans: Spanned[] = []
  registerSdk((span) => spans.push(span))
  return { tracing: (await openTracing(({ message }) => troubles.push(message)))!, spans }
}

const parentHeader = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('spans', () => {
  afterEach(forgetSdk)

  test('are not made where no SDK is registered, or one of an earlier version of the API', async () => {
    assert.equal(await openTracing(() => assert.fail()), undefined)
    const key = Symbol.for('opentelemetry.js.api.1')
    const holder = globalThis as { [key]?: object }
    const before = holder[key]
    try {
      holder[key] = { version: '1.0.0', trace: {} }
      assert.equal(await openTracing(({ message }) => troubles.push(message)), undefined)
      assert.match(troubles.pop()!, /there are no spans: it has version 1\.0\.0 of @opentelemetry\/api/)
    } finally {
      if (before === undefined) delete holder[key]
      else holder[key] = before
    }
  })

  test('of a request are in the trace of its headers, which name them from then on', async () => {
    const { tracing, spans } = await withSdk()
    const headers = { traceparent: parentHeader }
    const request = tracing.begin('POST', { a: 1 }, headers)
    const inner = await request.within(() => tracing.call('read', {}, async () => carriedBy(tracing)))
    request.end(undefined, 'POST /x', { b: 2 })
    const [call, own] = spans
    assert.deepEqual(
      [own!.name, own!.kind, own!.attributes, own!.isError],
      ['POST /x', 'SERVER', { a: 1, b: 2 }, false],
    )
    assert.equal(own!.trace, '4bf92f3577b34da6a3ce929d0e0e4736')
    assert.equal(own!.parent, '00f067aa0ba902b7')
    assert.equal(headers.traceparent, `00-${own!.trace}-${own!.id}-01`)
    assert.deepEqual(
      [call!.name, call!.kind, call!.trace, call!.parent],
      ['read', 'CLIENT', own!.trace, own!.id],
    )
    assert.equal(inner, `00-${call!.trace}-${call!.id}-01`)
  })

  test('of calls that outlast their request are in no trace of it, and exist only where they are wanted always', async () => {
    const { tracing, spans } = await withSdk()
    const request = tracing.begin('GET', {}, {})
    const ended = Promise.withResolvers<void>()
    const later = request.within(async () => {
      await ended.promise
      await tracing.call('write', {}, async () => {})
      await tracing.call('reserve', {}, async () => {}, true)
    })
    request.end()
    ended.resolve()
    await later
    assert.deepEqual(
      spans.map(({ name, parent }) => [name, parent]),
      [
        ['GET', undefined],
        ['reserve', undefined],
      ],
    )
    assert.notEqual(spans[0]!.trace, spans[1]!.trace)
  })

  test('of a request that its client does not record are not recorded, and neither are its calls', async () => {
    const { tracing, spans } = await withSdk()
    const request = tracing.begin('GET', {}, { traceparent: parentHeader.replace(/1$/, '0') })
    await request.within(() => tracing.call('reserve', {}, async () => {}, true))
    request.end()
    assert.deepEqual(spans, [])
  })

  test('tell the words of errors, and of the unexpected ones no text', async () => {
    const { tracing, spans } = await withSdk()
    const dry = new FahaoError('DRY', 'no ids')
    const failures = [dry, new FahaoError('NOGENERATOR', 'no such'), new Error('secret')]
    for (const error of failures) {
      assert.throws(
        () =>
          tracing.answer('INCR', {}, () => {
            throw error
          }),
        error,
      )
      await assert.rejects(
        tracing.answer('INCR', {}, () => Promise.reject(error)),
        error,
      )
      await assert.rejects(
        tracing.call('reserve', {}, () => Promise.reject(error), true),
        error,
      )
    }
    assert.equal(
      tracing.answer('INCR', {}, () => 1),
      1,
    )
    assert.equal(await tracing.answer('INCR', {}, async () => 2), 2)
    assert.deepEqual(
      spans.map(({ isError, attributes }) => [attributes['error.type'], isError]),
      [
        ['DRY', true],
        ['DRY', true],
        ['DRY', true],
        ['NOGENERATOR', false],
        ['NOGENERATOR', false],
        ['NOGENERATOR', true],
        ['ERR', true],
        ['ERR', true],
        ['ERR', true],
        [undefined, false],
        [undefined, false],
      ],
    )
    assert.ok(!JSON.stringify(spans).includes('secret'))
  })

  test('of an SDK that fails change no answer and no outcome, and its first error is reported', async () => {
    const fail = () => {
      throw new Error('the queue is full')
    }
    for (const failing of [{ onStart: fail }, { onEnd: fail }]) {
      const processor = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} }
      trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [{ ...processor, ...failing }] }))
      troubles.length = 0
      const tracing = (await openTracing(({ message }) => troubles.push(message)))!
      const request = tracing.begin('GET', {}, { traceparent: parentHeader })
      assert.equal(
        request.within(() => 1),
        1,
      )
      request.end()
      assert.equal(
        tracing.answer('INCR', {}, () => 2),
        2,
      )
      assert.equal(await tracing.call('reserve', {}, async () => 3, true), 3)
      await assert.rejects(
        tracing.call('reserve', {}, () => Promise.reject(new FahaoError('DRY', 'no ids')), true),
        { code: 'DRY' },
      )
      assert.deepEqual(troubles.splice(0), ['the SDK of OpenTelemetry fails: the queue is full'])
      forgetSdk()
    }
  })

  test('are not those of a request for what is begun apart from it', async () => {
    const { tracing } = await withSdk()
    const request = tracing.begin('GET', {}, {})
    assert.notEqual(
      request.within(() => trace.getSpan(context.active())),
      undefined,
    )
    assert.equal(
      request.within(() => tracing.apart(() => trace.getSpan(context.active()))),
      undefined,
    )
  })
})

/** The header that names the span under way. */
function carriedBy(tracing: Tracing): string | undefined {
  const headers: { traceparent?: string } = {}
  tracing.carry(headers)
  return headers.traceparent
}
