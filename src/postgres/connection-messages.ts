/**
 * All messages of one connection: encryption, cancellation and the login, then those of its session. What ends the connection is
 * told to the client as a FATAL error.
 * https://www.postgresql.org/docs/15/protocol-flow.html#id-1.10.6.7.3
 *
 * Invariants
 *  1. No session begins without a login, unless there are no users, or the user `default` needs no password.
 *  2. On a listener that speaks TLS no password is asked for, and no session begins, before TLS is set up.
 *  3. A password is in no error, no log and no message to the client.
 *  4. Nothing is written while a promise settles: the shared output belongs to another connection then.
 */
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import { addressOf } from '../base/address.ts'
import { FahaoError } from '../base/errors.ts'
import { InProcessCaller, type OperatingNode } from '../operations/caller.ts'
import type { CallerSession } from '../operations/caller-session.ts'
import type { CancelKeys } from './cancel-keys.ts'
import { FatalError, protocolViolation } from './errors.ts'
import { Frames, MessageReader } from './frames.ts'
import { writeError, writeReady, writeSetting } from './replies.ts'
import { Session } from './session.ts'
import type { SessionHost } from './session-host.ts'
import { type Progress, SessionMessages } from './session-messages.ts'
import { SqlError } from './sql-error.ts'
import { readStart, type StartMessage, startBytesMax } from './start-message.ts'

/** What logins need. */
export type LoginHost = SessionHost & {
  readonly node: OperatingNode
  readonly access: Pick<AccessControl, 'initial' | 'initialOf' | 'login' | 'users'>
  /** The permissions before a login: none. */
  readonly unauthenticated: Access
  /** Whether the listener speaks TLS, and only that. */
  readonly hasTls: boolean
  readonly cancelKeys: CancelKeys<{ cancel(): void }>
  /** Fahao's version. */
  readonly version: string
}

/** What the statements and results of a session take without being counted, in bytes. */
const sessionBytesMax = 65_536
const tlsHandshake = 0x16
const passwordMessage = 'p'.charCodeAt(0)

/** The messages of one connection. */
export class ConnectionMessages {
  readonly frames = new Frames(startBytesMax)
  /** Whether the client has begun with TLS, without a request for it. */
  isDirectTls = false
  readonly #session: CallerSession
  readonly #host: LoginHost
  #isSecure = false
  /** The name of the client's certificate; undefined: it has presented none. */
  #certificate: string | undefined
  #hasAskedForTls = false
  /** The client that was asked for its password. */
  #asked: StartMessage | undefined
  #key: Buffer | undefined
  /** Undefined before the login. */
  #sessionMessages: SessionMessages | undefined

  constructor(session: CallerSession, host: LoginHost) {
    this.#session = session
    this.#host = host
  }

  /** Undefined before the login. */
  get sessionMessages(): SessionMessages | undefined {
    return this.#sessionMessages
  }

  /** About how much memory messages, statements, portals and results take, in bytes, unless it is little. */
  get heldBytes(): number {
    const messages = this.frames.heldBytes
    const others = this.#sessionMessages?.heldBytes ?? 0
    return (messages < startBytesMax ? 0 : messages) + (others < sessionBytesMax ? 0 : others)
  }

  /** TLS is set up. @param certificate the name of the client's certificate. */
  secure(certificate: string | undefined): void {
    this.#certificate = certificate
    this.#isSecure = true
  }

  /** Carries out the next message, or sends the next part of a result. */
  advance(): Progress {
    return this.#contain(() => this.#sessionMessages?.advance() ?? this.#logIn())
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

  /** Forgets what the server keeps of the connection. */
  end(): void {
    this.frames.clear()
    if (this.#key) this.#host.cancelKeys.remove(this.#key)
  }

  #contain(work: () => Progress): Progress {
    try {
      const progress = work()
      if (!(progress instanceof Promise)) return progress
      return progress.then(
        (write) => () => this.#contain(write),
        (error) => () => this.fail(error),
      )
    } catch (error) {
      return this.fail(error)
    }
  }

  #logIn(): Progress {
    if (this.#asked !== undefined) return this.#takePassword(this.#asked)
    if (this.frames.firstByte === tlsHandshake && this.#host.hasTls && !this.#isSecure) {
      this.isDirectTls = true
      return 'tls'
    }
    if (!this.frames.next(true)) return 'more'
    const request = readStart(this.frames)
    if (request.wants === 'login') return this.#start(request)
    if (request.wants !== 'cancel') return this.#encrypt(request.wants)
    this.#host.cancelKeys.cancel(request.key)
    return 'end'
  }

  #encrypt(wanted: 'tls' | 'gssapi'): Progress {
    const { output, hasTls } = this.#host
    const isRepeated = wanted === 'tls' && this.#hasAskedForTls
    if (this.#isSecure || isRepeated) throw protocolViolation('encryption was asked for twice')
    if (wanted === 'tls') this.#hasAskedForTls = true
    const accepts = wanted === 'tls' && hasTls
    output.int8((accepts ? 'S' : 'N').charCodeAt(0))
    return accepts ? 'tls' : 'answered'
  }

  #start(request: StartMessage): Progress {
    const { output, access, hasTls } = this.#host
    if (hasTls && !this.#isSecure)
      throw new SqlError('28000', 'this server speaks TLS only; connect with sslmode=require or verify-full')
    if (request.negotiated !== undefined) {
      output.begin('v')
      output.int32(request.minor)
      output.int32(request.negotiated.unknown.length)
      for (const name of request.negotiated.unknown) output.text(name)
      output.end()
    }
    const { user } = request
    if (this.#certificate === user) {
      const permitted = access.initialOf(user, { address: this.#address, door: 'postgres' })
      if (permitted.user === user) return this.#begin(request, permitted)
    }
    const known = access.users.get(user)
    if (known?.nopass) return this.#authenticate(request, '')
    if (access.initial.user !== '' && (known === undefined || !access.users.areStored))
      return this.#begin(request, access.initial)
    // AuthenticationCleartextPassword: what is stored of a password allows no other proof of it.
    output.begin('R')
    output.int32(3)
    output.end()
    this.#asked = request
    return 'answered'
  }

  #takePassword(request: StartMessage): Progress {
    if (!this.frames.next()) return 'more'
    if (this.frames.type !== passwordMessage)
      throw protocolViolation(`expected password response, got message type ${this.frames.type}`)
    const reader = new MessageReader(this.frames)
    const password = reader.text()
    reader.finish()
    return this.#authenticate(request, password)
  }

  async #authenticate(request: StartMessage, password: string): Promise<() => Progress> {
    const { user } = request
    try {
      const permitted = await this.#host.access.login(user, password, this.#address, 'postgres')
      return () => this.#begin(request, permitted)
    } catch (error) {
      if (error instanceof FahaoError && error.code === 'WRONGPASS')
        throw new SqlError('28P01', `password authentication failed for user "${user.slice(0, 64)}"`)
      throw error
    }
  }

  get #address(): string {
    return addressOf(this.#session.address).host
  }

  /** The client may do what `permitted` says: tells it the session. */
  #begin({ user, database, settings, minor }: StartMessage, permitted: Access): Progress {
    const { output, node, version, cancelKeys, limits } = this.#host
    this.#session.access = permitted
    const session = new Session(
      new InProcessCaller(this.#session, node),
      { user, database },
      { version },
      limits,
    )
    session.settings.start(settings)
    output.begin('R')
    output.int32(0)
    output.end()
    for (const [name, value] of session.takeReports()) writeSetting(output, name, value)
    this.#key = cancelKeys.add({ cancel: () => this.#session.cancel() }, this.#session.id, minor >= 2)
    output.begin('K')
    output.bytes(this.#key)
    output.end()
    writeReady(output, 'I')
    this.#sessionMessages = new SessionMessages(session, this.#host, this.frames)
    this.frames.bytesMax = limits.messageMaxBytes
    return 'answered'
  }
}
