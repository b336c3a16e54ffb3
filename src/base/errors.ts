/**
 * The error registry: every error that a user can receive has a code here. The code opens the RESP error line, is the
 * `code` of HTTP's problem details and of library errors, and never changes its meaning. The texts about each are in
 * `error-texts.ts`, so that the client's package goes without them.
 */
type ErrorKind = {
  /** HTTP status that carries it. */
  readonly status: number
  /** Whether the same request, sent again unchanged after a moment, can succeed. */
  readonly retryable: boolean
}

const kinds = {
  ERR: { status: 400, retryable: false },
  WRONGTYPE: { status: 409, retryable: false },
  NOGENERATOR: { status: 404, retryable: false },
  EXISTS: { status: 409, retryable: false },
  KEYUSED: { status: 422, retryable: false },
  CONFLICT: { status: 409, retryable: true },
  STALE: { status: 409, retryable: true },
  DRY: { status: 503, retryable: true },
  BUSY: { status: 503, retryable: true },
  EXHAUSTED: { status: 409, retryable: false },
  NOLEASE: { status: 409, retryable: false },
  LAPSED: { status: 409, retryable: false },
  CLOCK: { status: 503, retryable: true },
  WORKERID: { status: 503, retryable: false },
  NOTOWNER: { status: 503, retryable: false },
  MOVED: { status: 503, retryable: true },
  CLUSTERDOWN: { status: 503, retryable: true },
  CROSSSLOT: { status: 400, retryable: false },
  EXECABORT: { status: 400, retryable: false },
  REGRESSED: { status: 503, retryable: false },
  UNAVAILABLE: { status: 503, retryable: true },
  UNKNOWN: { status: 503, retryable: true },
  UNSAFE: { status: 400, retryable: false },
  LIMIT: { status: 413, retryable: false },
  QUOTA: { status: 429, retryable: true },
  CONFIG: { status: 500, retryable: false },
  ENGINE: { status: 500, retryable: false },
  SHUTDOWN: { status: 503, retryable: true },
  ABORTED: { status: 499, retryable: true },
  NOAUTH: { status: 401, retryable: false },
  WRONGPASS: { status: 401, retryable: false },
  NOPERM: { status: 403, retryable: false },
  NOPROTO: { status: 400, retryable: false },
} as const satisfies Record<string, ErrorKind>

/** The published code of an error. */
export type ErrorCode = keyof typeof kinds

/** Every published error: its HTTP status, and whether a retry can help. What it means is in `error-texts.ts`. */
export const errorKinds: Readonly<Record<ErrorCode, ErrorKind>> = Object.freeze(kinds)

type ErrorOptions = {
  readonly cause?: unknown
  readonly retryAfterMs?: number
  /** The message for a reader that may name all of a pattern, if that says more; the message itself is for any reader. */
  readonly fuller?: { readonly pattern: string; readonly message: string }
}

/** The fuller messages of errors. No member of them has one: where an error is printed whole, every reader sees them. */
const fullers = new WeakMap<FahaoError, NonNullable<ErrorOptions['fuller']>>()

/** Marks the prototypes of this class in every package, and in every copy of it that a program loads. */
const brand = Symbol.for('fahao.error')

/**
 * An operating error, as every interface shows it. Thrown by the library, sent as `-CODE message` over RESP. `fahao` and
 * `fahao-client` each contain this class, so `instanceof FahaoError` of one holds for errors of the other too.
 */
export class FahaoError extends Error {
  static {
    Object.defineProperty(FahaoError.prototype, brand, { value: true })
    Object.defineProperty(FahaoError, Symbol.hasInstance, { value: isInstance })
  }

  override readonly name = 'FahaoError'
  /** The published code; stable for programs. */
  readonly code: ErrorCode
  /** When the same request can succeed at the earliest, in ms from now, if that is known. */
  readonly retryAfterMs: number | undefined

  /** @param message one sentence, on one line, that says what to do. */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.retryAfterMs = options?.retryAfterMs
    if (options?.fuller !== undefined) fullers.set(this, options.fuller)
  }

  /** The message for a reader. @param mayName whether it may name what fits a pattern. */
  messageFor(mayName: (pattern: string) => boolean): string {
    const fuller = fullers.get(this)
    return fuller !== undefined && mayName(fuller.pattern) ? fuller.message : this.message
  }

  /** This error as a reader may see it: its message is `messageFor` the reader. */
  forReader(mayName: (pattern: string) => boolean): FahaoError {
    const message = this.messageFor(mayName)
    if (message === this.message) return this
    const { code, retryAfterMs } = this
    return new FahaoError(code, message, { cause: this, ...(retryAfterMs !== undefined && { retryAfterMs }) })
  }

  /** Whether the same request, sent again unchanged after a moment, can succeed. */
  get retryable(): boolean {
    return errorKinds[this.code].retryable
  }

  /** The HTTP status that carries this error. */
  get status(): number {
    return errorKinds[this.code].status
  }
}

/** What `instanceof` calls: whether a value is a FahaoError of any copy; for a subclass, whether it is one of that very class. */
function isInstance(this: typeof FahaoError, value: unknown): boolean {
  // A subclass inherits this.
  if (this !== FahaoError) return Function.prototype[Symbol.hasInstance].call(this, value)
  return typeof value === 'object' && value !== null && brand in value
}

/** Whether `error` is a FahaoError with this code. */
export function hasCode(error: unknown, code: ErrorCode): error is FahaoError {
  return error instanceof FahaoError && error.code === code
}

/** One line that describes anything thrown, for messages and logs. */
export function describe(error: unknown): string {
  if (error instanceof FahaoError) return `${error.code} ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
