/**
 * Spans of OpenTelemetry, in a process that has an SDK. The SDK decides which are kept, and where they go.
 *
 * Invariants
 *  1. Without an SDK nothing is loaded, and all that could make a span finds undefined in place of a `Tracing`.
 *  2. A span ends when what it is of ends, with its error.
 *  3. A call that a request has begun is in the trace of the request while that is under way, and not afterwards.
 *  4. An error of the SDK changes no answer and no outcome of a call. The first one is reported.
 *  5. A span has no token, password, query or text of an unexpected error.
 */
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import { describe, errorKinds, FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { packageOf } from './packages.ts'
import { version } from './version.ts'

type Api = typeof import('@opentelemetry/api')

/** Where each copy of the API keeps what an SDK has registered. */
const registered = Symbol.for('opentelemetry.js.api.1')
type Registered = { readonly version?: string; readonly trace?: unknown }

/**
 * Undefined: this process has no SDK, so that spans would go nowhere.
 * @param onEvent receives why there are no spans although there is an SDK.
 */
export async function openTracing(onEvent: (event: LogEvent) => void): Promise<Tracing | undefined> {
  const { trace, version: theirs } = (globalThis as { [registered]?: Registered })[registered] ?? {}
  if (trace === undefined) return undefined
  const warn = (reason: string) =>
    onEvent({ level: 'warn', message: `there is an SDK of OpenTelemetry, and there are no spans: ${reason}` })
  try {
    const api = await packageOf('@opentelemetry/api', import('@opentelemetry/api'))
    if (api.trace.getTracerProvider() === trace) return new Tracing(api, onEvent)
    warn(`it has version ${theirs} of @opentelemetry/api, and Fahao another one; install the same`)
  } catch (error) {
    warn(describe(error))
  }
  return undefined
}

/** A request that this process answers. */
export type TracedRequest = {
  /** Runs what answers it: calls that it makes are in its trace. */
  within<Result>(work: () => Result): Result
  /** It is answered. `error`: its word, and whether this process is to blame. */
  end(
    error?: { readonly type: string; readonly isOurs: boolean },
    name?: string,
    attributes?: Attributes,
  ): void
}

/** Makes spans. */
export class Tracing {
  readonly #api: Api
  readonly #tracer: Tracer
  readonly #onEvent: (event: LogEvent) => void
  #hasFailed = false

  /** @param onEvent receives the first error of the SDK. */
  constructor(api: Api, onEvent: (event: LogEvent) => void) {
    this.#api = api
    this.#onEvent = onEvent
    this.#tracer = api.trace.getTracer('fahao', version)
  }

  /** Begins the span of a request, in the trace that `headers` name, if they name one. From now on they name the span. */
  begin(name: string, attributes: Attributes, headers: object): TracedRequest {
    const { ROOT_CONTEXT, SpanKind, context, propagation, trace } = this.#api
    let own = ROOT_CONTEXT
    const span = this.#ask(() => {
      const parent = propagation.extract(ROOT_CONTEXT, headers)
      const begun = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
      own = trace.setSpan(parent, begun)
      propagation.inject(own, headers)
      return begun
    })
    return {
      within: (work) => context.with(own, work),
      end: (error, better, more = {}) =>
        this.#ask(() => {
          if (better !== undefined) span?.updateName(better)
          span?.setAttributes(more)
          this.#end(span, error)
        }),
    }
  }

  /** Answers a request of a protocol without headers, which begins a trace of its own. */
  answer<Result>(name: string, attributes: Attributes, work: () => Result): Result {
    const request = this.begin(name, attributes, {})
    const fail = (error: unknown) => request.end({ type: typeOf(error), isOurs: isOurs(error) })
    try {
      const result = request.within(work)
      if (result instanceof Promise) result.then(() => request.end(), fail)
      else request.end()
      return result
    } catch (error) {
      fail(error)
      throw error
    }
  }

  /** Makes a call of another process. `always`: it has a span also if no request is under way. */
  async call<Result>(
    name: string,
    attributes: Attributes,
    work: () => Promise<Result>,
    always = false,
  ): Promise<Result> {
    const { SpanKind, context, trace } = this.#api
    const parent = this.#underWay()
    if (parent === undefined && !always) return work()
    const under = parent ?? this.#api.ROOT_CONTEXT
    const span = this.#ask(() => this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, under))
    const own = span === undefined ? under : trace.setSpan(under, span)
    try {
      const result = await context.with(own, work)
      this.#ask(() => this.#end(span))
      return result
    } catch (error) {
      this.#ask(() => this.#end(span, { type: typeOf(error), isOurs: true }, error))
      throw error
    }
  }

  /** Begins what is of no request. */
  apart<Result>(work: () => Result): Result {
    return this.#api.context.with(this.#api.ROOT_CONTEXT, work)
  }

  /** Has `headers` name the span under way. */
  carry(headers: object): void {
    this.#ask(() => this.#api.propagation.inject(this.#api.context.active(), headers))
  }

  /** Asks the SDK. Returns undefined if it fails. */
  #ask<Result>(ask: () => Result): Result | undefined {
    try {
      return ask()
    } catch (error) {
      if (!this.#hasFailed)
        this.#onEvent({ level: 'warn', message: `the SDK of OpenTelemetry fails: ${describe(error)}` })
      this.#hasFailed = true
      return undefined
    }
  }

  /** Timers and loops keep the context in which they began: a span that has ended is not under way. */
  #underWay(): Context | undefined {
    const { TraceFlags, context, trace } = this.#api
    const active = context.active()
    const span = trace.getSpan(active)
    if (span === undefined) return undefined
    const { traceFlags, isRemote = false } = span.spanContext()
    const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
    return isSampled && !isRemote && !span.isRecording() ? undefined : active
  }

  #end(
    span: Span | undefined,
    error?: { readonly type: string; readonly isOurs: boolean },
    cause?: unknown,
  ): void {
    if (error !== undefined) {
      span?.setAttribute('error.type', error.type)
      const message = cause instanceof FahaoError ? cause.message : undefined
      if (error.isOurs)
        span?.setStatus({ code: this.#api.SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
    }
    span?.end()
  }
}

function typeOf(error: unknown): string {
  return error instanceof FahaoError ? error.code : 'ERR'
}

/** Whether the same request could have been carried out at another time. */
function isOurs(error: unknown): boolean {
  return !(error instanceof FahaoError) || errorKinds[error.code].status >= 500
}
