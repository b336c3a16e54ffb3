/**
 * All messages of one connection: first its login, then its conversation. What ends the connection is told to the client
 * as a FATAL error.
 */
import { FahaoError } from '../base/errors.ts'
import type { CallerSession } from '../commands/caller-session.ts'
import type { Conversation } from './conversation.ts'
import { FatalError } from './errors.ts'
import { Frames } from './frames.ts'
import { Login, type LoginHost } from './login.ts'
import { writeError } from './replies.ts'
import { SqlError } from './sql-error.ts'
import { startBytesMax } from './startup.ts'

/** What the statements and results of a session take without being counted, in bytes. */
const sessionBytesMax = 65_536
/** The longest message that is short, in bytes. */
const shortBytesMax = 1024

/**
 * `answered`: there may be more. `more`: nothing before more bytes arrive. `tls`: the socket has to speak TLS first. `end`:
 * the connection ends. A promise: call its result, which writes the replies, before the next step.
 */
export type Step = 'answered' | 'more' | 'tls' | 'end' | Promise<() => Step>

/** The messages of one connection. */
export class Dialogue {
  readonly frames = new Frames(startBytesMax)
  readonly #session: CallerSession
  readonly #host: LoginHost
  readonly #login: Login
  /** Undefined before the login. */
  #conversation: Conversation | undefined

  constructor(session: CallerSession, host: LoginHost) {
    this.#session = session
    this.#host = host
    this.#login = new Login(session, host, this.frames)
  }

  /** Whether the client is logged in. */
  get isLoggedIn(): boolean {
    return this.#conversation !== undefined
  }

  /** Whether what has been received can take no long time: reading a statement takes a multiple of what its bytes would. */
  get isShort(): boolean {
    return this.frames.pendingBytes <= shortBytesMax
  }

  /** Whether a result is being sent, with which `advance` goes on. */
  get isReplying(): boolean {
    return this.#conversation?.isReplying ?? false
  }

  /** About how much memory messages, statements, portals and results take, in bytes, unless it is little. */
  get heldBytes(): number {
    const messages = this.frames.heldBytes
    const others = this.#conversation?.heldBytes ?? 0
    return (messages < startBytesMax ? 0 : messages) + (others < sessionBytesMax ? 0 : others)
  }

  /** Whether a quota has refused a statement since this was asked last. */
  takeRefused(): boolean {
    const conversation = this.#conversation
    const isRefused = conversation?.isRefused ?? false
    if (conversation) conversation.isRefused = false
    return isRefused
  }

  /** TLS is set up. @param certificate the name of the client's certificate. */
  secure(certificate: string | undefined): void {
    this.#session.certificateName = certificate
    this.#login.isSecure = true
  }

  /** Whether the client has begun with TLS, without a request for it. */
  get isDirectTls(): boolean {
    return this.#login.isDirect
  }

  /** Carries out the next message, or goes on with a result. */
  advance(): Step {
    try {
      const conversation = this.#conversation
      if (conversation === undefined) return this.#follow(this.#login.advance())
      const progress = conversation.advance()
      if (!(progress instanceof Promise)) return progress
      return progress.then(
        (finish) => () => this.#contain(() => conversation.answer(finish)),
        (error) => () => this.#contain(() => conversation.fail(error)),
      )
    } catch (error) {
      return this.fail(error)
    }
  }

  /** Tells the client the error that ends the connection. */
  fail(error: unknown): 'end' {
    const cause = error instanceof FatalError ? error.cause : error
    if (!(cause instanceof FahaoError)) this.#host.onError(cause, this.#session)
    const told = cause instanceof FahaoError ? cause : new SqlError('XX000', 'internal error; the log has it')
    this.#host.output.abandon()
    this.#host.figures.failed(told.code)
    writeError(this.#host.output, told, 'FATAL')
    this.frames.clear()
    return 'end'
  }

  /** Forgets what the server keeps of it. */
  end(): void {
    this.frames.clear()
    this.#login.end()
  }

  #follow(step: ReturnType<Login['advance']>): Step {
    if (typeof step === 'string') return step
    if (!(step instanceof Promise)) return this.#begin(step)
    return step.then(
      (finish) => () => this.#contain(() => this.#begin(finish())),
      (error) => () => this.fail(error),
    )
  }

  #begin(conversation: Conversation): 'answered' {
    this.#conversation = conversation
    this.frames.bytesMax = this.#host.limits.messageBytesMax
    return 'answered'
  }

  #contain(work: () => void): Step {
    try {
      work()
      return 'answered'
    } catch (error) {
      return this.fail(error)
    }
  }
}
