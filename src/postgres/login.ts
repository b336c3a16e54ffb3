/**
 * The start of a connection: encryption, cancellation, authentication, and the first messages of the session.
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
import type { CallerSession } from '../commands/caller-session.ts'
import type { InProcess } from '../commands/in-process.ts'
import type { CancelKeys } from './cancel-keys.ts'
import { Conversation } from './conversation.ts'
import { protocolViolation } from './errors.ts'
import { type Frames, MessageReader } from './frames.ts'
import type { ConversationHost } from './host.ts'
import { writeReady, writeSetting } from './replies.ts'
import { nameInLists, Session } from './session.ts'
import { SqlError } from './sql-error.ts'
import { readStart, type StartMessage } from './startup.ts'
import { bytesToText } from './values.ts'

/** What logins need. */
export type LoginHost = ConversationHost & {
  readonly inProcess: InProcess
  readonly access: Pick<AccessControl, 'initial' | 'initialOf' | 'login' | 'users'>
  /** The permissions before a login: none. */
  readonly unauthenticated: Access
  /** Whether the listener speaks TLS, and only that. */
  readonly hasTls: boolean
  readonly cancelKeys: CancelKeys<{ cancel(): void }>
  /** Fahao's version. */
  readonly version: string
}

/**
 * `answered`: there may be more. `more`: nothing before more bytes arrive. `tls`: the socket has to speak TLS first. `end`:
 * the connection ends. A conversation: the client is logged in. A promise: call its result, which writes the first messages of
 * the session, when this connection is served.
 */
export type LoginStep = 'answered' | 'more' | 'tls' | 'end' | Conversation | Promise<() => Conversation>

const tlsHandshake = 0x16
const passwordMessage = 'p'.charCodeAt(0)

/** The login of one connection. */
export class Login {
  /** Whether TLS is set up. */
  isSecure = false
  /** Whether the client has begun with TLS, without a request for it. */
  isDirect = false
  readonly #session: CallerSession
  readonly #host: LoginHost
  readonly #frames: Frames
  /** The client that was asked for its password. */
  #asked: StartMessage | undefined
  #hasAskedForTls = false
  #key: Buffer | undefined

  constructor(session: CallerSession, host: LoginHost, frames: Frames) {
    this.#session = session
    this.#host = host
    this.#frames = frames
  }

  /** Carries out the next message. Throws or rejects with what ends the connection. */
  advance(): LoginStep {
    if (this.#asked !== undefined) return this.#takePassword(this.#asked)
    if (this.#frames.firstByte === tlsHandshake && this.#host.hasTls && !this.isSecure) {
      this.isDirect = true
      return 'tls'
    }
    if (!this.#frames.next(true)) return 'more'
    const request = readStart(this.#frames)
    if (request.wants === 'cancel') {
      this.#host.cancelKeys.cancel(request.key)
      return 'end'
    }
    if (request.wants === 'login') return this.#start(request)
    return this.#encrypt(request.wants)
  }

  /** Forgets what the server keeps of it. */
  end(): void {
    if (this.#key) this.#host.cancelKeys.remove(this.#key)
  }

  #encrypt(wanted: 'tls' | 'gssapi'): LoginStep {
    const { output, hasTls } = this.#host
    const isRepeated = wanted === 'tls' && this.#hasAskedForTls
    if (this.isSecure || isRepeated) throw protocolViolation('encryption was asked for twice')
    if (wanted === 'tls') this.#hasAskedForTls = true
    const accepts = wanted === 'tls' && hasTls
    output.int8((accepts ? 'S' : 'N').charCodeAt(0))
    return accepts ? 'tls' : 'answered'
  }

  #start(request: StartMessage): LoginStep {
    const { output, access, hasTls } = this.#host
    if (hasTls && !this.isSecure)
      throw new SqlError('28000', 'this server speaks TLS only; connect with sslmode=require or verify-full')
    if (request.negotiated !== undefined) {
      output.begin('v')
      output.int32(request.minor)
      output.int32(request.negotiated.unknown.length)
      for (const name of request.negotiated.unknown) output.text(name)
      output.end()
    }
    const { user } = request
    const { address } = addressOfClient(this.#session)
    if (this.#session.certificateName === user) {
      const permitted = access.initialOf(user, { address, door: 'postgres' })
      if (permitted.user === user) return this.#finish(request, permitted)
    }
    const known = access.users.get(user)
    if (known?.nopass) return this.#authenticate(request, '')
    if (access.initial.user !== '' && (known === undefined || !access.users.areStored))
      return this.#finish(request, access.initial)
    // AuthenticationCleartextPassword: what is stored of a password allows no other proof of it.
    output.begin('R')
    output.int32(3)
    output.end()
    this.#asked = request
    return 'answered'
  }

  #takePassword(request: StartMessage): LoginStep {
    if (!this.#frames.next()) return 'more'
    if (this.#frames.type !== passwordMessage)
      throw protocolViolation(`expected password response, got message type ${this.#frames.type}`)
    const reader = new MessageReader(this.#frames)
    const password = bytesToText(reader.latin1())
    reader.finish()
    return this.#authenticate(request, password)
  }

  async #authenticate(request: StartMessage, password: string): Promise<() => Conversation> {
    const { user } = request
    const { address } = addressOfClient(this.#session)
    try {
      const permitted = await this.#host.access.login(user, password, address, 'postgres')
      return () => this.#finish(request, permitted)
    } catch (error) {
      if (error instanceof FahaoError && error.code === 'WRONGPASS')
        throw new SqlError('28P01', `password authentication failed for user "${user.slice(0, 64)}"`)
      throw error
    }
  }

  /** The client may do what `permitted` says: tells it the session. */
  #finish(request: StartMessage, permitted: Access): Conversation {
    const { output, inProcess, version, cancelKeys } = this.#host
    const { user, database, settings, minor } = request
    this.#session.access = permitted
    const session = new Session(
      inProcess.caller(this.#session),
      { user, database },
      { version },
      this.#host.limits,
    )
    session.settings.start(settings)
    this.#session.name = nameInLists(session.settings.get('application_name') ?? '')
    output.begin('R')
    output.int32(0)
    output.end()
    for (const [name, value] of session.takeReports()) writeSetting(output, name, value)
    this.#key = cancelKeys.add({ cancel: () => this.#session.cancel() }, this.#session.id, minor >= 2)
    output.begin('K')
    output.bytes(this.#key)
    output.end()
    writeReady(output, 'I')
    return new Conversation(session, this.#host, this.#frames)
  }
}

function addressOfClient({ address }: CallerSession): { readonly address: string } {
  return { address: addressOf(address).host }
}
