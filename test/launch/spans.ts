/**
 * The SDK of OpenTelemetry. `node --import` of this file has a process write its spans, a line of JSON each, into the file that
 * SPANS_FILE names.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'

/** A span that has ended. */
export type Spanned = {
  readonly name: string
  readonly kind: string
  readonly trace: string
  readonly id: string
  /** The id of its parent. */
  readonly parent: string | undefined
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Registers it in this process. @param onSpan is told of each span that ends. */
export function registerSdk(onSpan: (span: Spanned) => void): void {
  const processor = {
    onStart() {},
    onEnd: (span: ReadableSpan) => onSpan(spanned(span)),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
}

/** Removes it. */
export function forgetSdk(): void {
  for (const each of [context, propagation, trace]) each.disable()
}

/** The spans that processes have written into a file. */
export function spansIn(file: string): Spanned[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line))
}

function spanned(span: ReadableSpan): Spanned {
  const { name, kind, parentSpanContext, status, attributes } = span
  const { traceId, spanId } = span.spanContext()
  const isError = status.code === SpanStatusCode.ERROR
  return {
    name,
    kind: SpanKind[kind],
    trace: traceId,
    id: spanId,
    parent: parentSpanContext?.spanId,
    isError,
    attributes,
  }
}

const { SPANS_FILE: file } = process.env
if (file !== undefined) registerSdk((span) => appendFileSync(file, `${JSON.stringify(span)}\n`))
