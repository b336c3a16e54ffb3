/** Who a caller is and what it may do: the users of a node, their tokens, and their logins. */

import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { type Access, unauthenticated } from './access.ts'
import { CheckLimits } from './check-limits.ts'
import type { Subjects } from './command-rules.ts'
import { Logins } from './logins.ts'
import { isProofText, type NodeProof, type Proving, type Purpose, respPurpose } from './node-proof.ts'
import { Passwords } from './passwords.ts'
import { isTokenText } from './token.ts'
import { Tokens, type TokensDeps } from './tokens.ts'
import { Users, type UsersDeps } from './users.ts'

/** What access control needs. */
export type AccessDeps = UsersDeps &
  Omit<TokensDeps, 'users'> & {
    readonly clock: Clock
    /** Proofs of other nodes; undefined: there is no cluster. */
    readonly proof?: NodeProof | undefined
    /** Takes logins and failed logins. */
    readonly audit: Audit
    /** Default: with the present cost of hashes. */
    readonly passwords?: Passwords
  }

/** What nodes send on a connection for a user, whatever that user may do. */
const greetings = ['client|setinfo']

/** Users and logins of one node. */
export class AccessControl implements Proving {
  readonly users: Users
  readonly tokens: Tokens
  readonly subjects: Subjects
  readonly passwords: Passwords
  readonly checks: CheckLimits
  readonly #logins: Logins
  readonly #proof: NodeProof | undefined
  readonly #audit: Audit
  /** For the permissions of each user, the part that holds for forwarded requests. */
  readonly #forwarded = new WeakMap<Access, Access>()

  private constructor(
    users: Users,
    tokens: Tokens,
    { subjects, clock, proof, audit, passwords = new Passwords() }: AccessDeps,
  ) {
    this.#audit = audit
    this.users = users
    this.tokens = tokens
    this.subjects = subjects
    this.passwords = passwords
    this.#proof = proof
    this.#logins = new Logins(passwords, clock)
    this.checks = new CheckLimits(clock)
  }

  /** Reads the users and tokens of the engine, and follows their changes. */
  static async open(deps: AccessDeps): Promise<AccessControl> {
    const users = await Users.open(deps)
    try {
      return new AccessControl(users, await Tokens.open({ ...deps, users }), deps)
    } catch (error) {
      users.close()
      throw error
    }
  }

  /** Calls `listener` whenever permissions may have changed; see `present`. */
  listen(listener: () => void): void {
    this.users.listen(listener)
    this.tokens.listen(listener)
  }

  /** After the store has lost writes and was advanced: writes again what this node knows and the store has lost. */
  async reconcile(): Promise<void> {
    await this.users.reconcile()
    await this.tokens.reconcile()
  }

  /** The permissions of a caller that has not authenticated. */
  get initial(): Access {
    return this.users.initial ?? unauthenticated
  }

  /**
   * The permissions of a caller that has presented a valid certificate with this common name, and nothing else.
   * @param from where it logs in by it, for the audit trail; absent: it has done so before.
   */
  initialOf(
    certificateName: string | undefined,
    from?: { readonly address: string; readonly door: string },
  ): Access {
    const access = certificateName === undefined ? undefined : this.withoutPassword(certificateName)
    if (access === undefined) return this.initial
    if (from)
      this.#audit.record({ event: 'login', user: access.user, ...from, object: '', detail: 'certificate' })
    return access
  }

  /** The permissions of a user that logs in by a setting or a certificate; undefined: it may not, as with a password. */
  withoutPassword(user: string): Access | undefined {
    return this.users.grace.isFresh ? this.users.access(user) : undefined
  }

  /** See `Proving.proofFor`. */
  proofFor(user: string, nodeId: string, purpose: Purpose): string {
    return this.#proof?.make(nodeId, { user, revision: this.revisionOf(user) }, purpose) ?? ''
  }

  /** See `Proving.revisionOf`. */
  revisionOf(user: string): number {
    return this.users.revisionOf(user)
  }

  /** The present permissions of a caller whose permissions were `access`; undefined: it may not connect any more. */
  present(access: Access): Access | undefined {
    if (access.token !== undefined) return this.tokens.access(access.token)
    const present = this.users.access(access.user)
    return access.isForwarded && present !== undefined ? this.#forwardedOf(present) : present
  }

  /**
   * The permissions of a caller that has proven who it is, by `login` or `loginWithToken`, while nothing about its user or
   * token has changed since; undefined: it has to prove it again. Throws UNAVAILABLE while the users are not known.
   */
  unchanged(access: Access): Access | undefined {
    this.users.grace.check()
    // A changed user or token has another object.
    return this.present(access) === access ? access : undefined
  }

  /**
   * The permissions of a user with this password, which may be a token of the user. WRONGPASS, also for a user that does
   * not exist or is off; QUOTA after too many failures; UNAVAILABLE while the users are not known.
   * @param address the IP address of the client.
   * @param door the transport, for the audit trail.
   */
  async login(user: string, password: string, address: string, door = 'resp'): Promise<Access> {
    if (door === 'resp' && isProofText(password))
      return this.loginByProof(user, password, respPurpose, address)
    this.users.grace.check()
    const record = (event: 'login' | 'login-failed', detail?: string) => {
      // A name that no user has may be a password in the wrong place.
      const known = this.users.get(user) === undefined ? undefined : user
      this.#audit.record({ event, user: known, address, door, object: '', detail })
    }
    if (isTokenText(password)) {
      const access = this.tokens.verify(password)
      record(access?.user === user ? 'login' : 'login-failed', 'token')
      if (access?.user === user) return access
      throw wrongPassword()
    }
    const enabled = () => (this.users.access(user) === undefined ? undefined : this.users.get(user))
    if (enabled()?.nopass) {
      record('login')
      return this.users.access(user)!
    }
    const login = await this.#logins.login({ user, password, address, hashes: () => enabled()?.passwords })
    // The user may have changed since: what is returned stands for a password that fits at this moment.
    if (login.outcome === 'ok' && enabled()?.passwords.includes(login.hash)) {
      record('login')
      return this.users.access(user)!
    }
    if (login.outcome === 'limited') {
      record('login-failed', 'limited')
      throw new FahaoError(
        'QUOTA',
        `too many failed logins; wait ${Math.ceil(login.retryAfterMs / 1000)} s before the next`,
      )
    }
    record('login-failed')
    throw wrongPassword()
  }

  /**
   * The permissions of a token. WRONGPASS; UNAVAILABLE while the tokens are not known. Only failures are recorded: each
   * request has its token.
   */
  loginWithToken(text: string, address: string): Access {
    this.users.grace.check()
    const access = this.tokens.verify(text)
    if (access !== undefined) return access
    this.#audit.record({
      event: 'login-failed',
      user: undefined,
      address,
      door: 'http',
      object: '',
      detail: 'token',
    })
    throw new FahaoError('WRONGPASS', 'the token is unknown, expired or revoked, or its user is disabled')
  }

  /**
   * The permissions of a request that another node forwards for `user`: what the user may do now, as far as nodes forward
   * it. Without a user: none. WRONGPASS; CLUSTERDOWN for the sender to try again; UNAVAILABLE while users are not known.
   */
  async loginByProof(user: string, proof: string, purpose: Purpose, address: string): Promise<Access> {
    this.users.grace.check()
    const revision = this.#proof?.take(proof, user, purpose) ?? 'forged'
    if (typeof revision !== 'number') {
      const detail = `node proof: ${revision}`
      const [event, door] = ['login-failed', purpose[0]] as const
      // A forged proof may name anyone.
      const named = revision === 'used' ? user : undefined
      this.#audit.record({ event, user: named, address, door, object: '', detail })
      throw wrongPassword()
    }
    if (user === '') return this.#forwardedOf(unauthenticated)
    await this.users.reach(user, revision)
    if (this.users.isSuperseded(user, revision))
      throw new FahaoError(
        'CLUSTERDOWN',
        'the user was changed after the node had checked the request; retry',
      )
    const access = this.users.access(user)
    if (access === undefined) throw wrongPassword()
    return this.#forwardedOf(access)
  }

  #forwardedOf(access: Access): Access {
    let forwarded = this.#forwarded.get(access)
    if (forwarded === undefined) {
      forwarded = access.forwarded(this.subjects.forwardable, greetings)
      this.#forwarded.set(access, forwarded)
    }
    return forwarded
  }

  /** Checks no more passwords than those that are remembered or under way: at the stop of a node. */
  stopLogins(): void {
    this.passwords.stop()
  }

  /** Ends its watches and timers. */
  close(): void {
    this.users.close()
    this.tokens.close()
  }
}

function wrongPassword(): FahaoError {
  return new FahaoError('WRONGPASS', 'invalid username-password pair or user is disabled.')
}
