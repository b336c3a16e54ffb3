/**
 * Operations for callers inside this process: connections of PostgreSQL's protocol, and the MySQL proxy.
 *
 * Invariants
 *  1. An operation runs only if the permissions of its caller allow it and the generator that it names. They are checked
 *     before it begins, so a request that is refused draws no id. Refusals and changes are in the audit trail.
 *  2. Ids are charged to the namespaces of the caller's user.
 *  3. An operation on a generator of another leader is carried out there.
 *  4. Operations start in the order of the calls.
 */
import { demandCommand, demandName, refusedName } from '../auth/access.ts'
import { addressOf } from '../base/address.ts'
import { hasCode } from '../base/errors.ts'
import type { Catalogue, Generator, ListPart } from '../catalogue/catalogue.ts'
import type { Definition } from '../catalogue/definition.ts'
import { listedPart } from '../catalogue/generator-lists.ts'
import { MeteredCatalogue } from '../catalogue/metered-catalogue.ts'
import type { Run } from '../ids/run.ts'
import type { OperationContext, Services } from './context.ts'
import { nextOperation } from './drawing.ts'
import type { GeneratorOperation } from './operation.ts'
import { recordDenied } from './refusals.ts'
import type { Session } from './session.ts'

/** Has an operation carried out by the node that leads its generator. */
export type Leaders = {
  /**
   * @param run carries it out on this node; rejects with `Moved` if another one leads.
   * @returns the answer of the leader. Rejects with the error that the leader has answered.
   */
  carryOut<Values extends { readonly name: string }, Answer>(
    operation: GeneratorOperation<Values, Answer>,
    values: Values,
    session: Session,
    run: () => Promise<Answer>,
  ): Promise<Answer>
}

/** What callers share. */
export type CallersOptions = {
  /** The generators of the node, not metered. */
  readonly catalogue: Catalogue
  readonly server: Services
  /** Undefined: there is no cluster. */
  readonly leaders?: Leaders | undefined
}

const issuing = nextOperation.name

/** The callers of a node. */
export class Callers {
  readonly #options: CallersOptions

  constructor(options: CallersOptions) {
    this.#options = options
  }

  /** The caller of this session: one object for each connection. */
  of(session: Session): Caller {
    return new Caller(session, this.#options)
  }
}

/** One caller. */
export class Caller {
  readonly session: Session
  readonly #options: CallersOptions
  readonly #context: OperationContext

  constructor(session: Session, options: CallersOptions) {
    const { catalogue, server } = options
    this.session = session
    this.#options = options
    this.#context = {
      caller: session,
      server,
      catalogue: new MeteredCatalogue(catalogue, server.meters, () => session.access.user),
    }
  }

  /** Carries an operation out. Rejects with the FahaoError that a Redis client would receive. */
  async run<Values extends { readonly name: string }, Answer>(
    operation: GeneratorOperation<Values, Answer>,
    values: Values,
  ): Promise<Answer> {
    this.demand(operation.name, values.name)
    const { leaders } = this.#options
    if (leaders === undefined) return this.#carryOut(operation, values)
    return leaders.carryOut(operation, values, this.session, () => this.#carryOut(operation, values))
  }

  /** Throws unless the caller may run the operation with this name, on the generator: NOAUTH, NOPERM. */
  demand(operation: string, name?: string): void {
    const { session } = this
    const { access } = session
    session.lastCommand = operation
    try {
      demandCommand(access, operation)
      if (name !== undefined) demandName(access, name)
    } catch (error) {
      const by = { user: access.user, address: addressOf(session.address).host }
      if (hasCode(error, 'NOPERM'))
        recordDenied({ ...this.#context, session }, by, operation, refusedName(error))
      throw error
    }
  }

  /**
   * Takes the next id of a generator that is open here, as `nextOperation`, without a promise. False: nothing was taken,
   * and `run` finds out why, or waits. Throws QUOTA.
   */
  takeOne(name: string, into: Run): boolean {
    const { access } = this.session
    if (!access.unrestricted && !(access.allows(issuing) && access.reaches(name))) return false
    return this.#context.catalogue.find(name)?.take(1, into) === 1
  }

  /** The generator, if it is open here. The permissions of the caller do not matter. */
  find(name: string): Generator | undefined {
    return this.#options.catalogue.find(name)
  }

  /** Whether there is a generator. The permissions of the caller do not matter: `demand` what it does with the answer. */
  exists(name: string): Promise<boolean> {
    return this.#options.catalogue.exists(name)
  }

  /** The definition of a generator. NOGENERATOR, UNAVAILABLE. The permissions of the caller do not matter, as in `exists`. */
  async definition(name: string): Promise<Definition> {
    const { catalogue } = this.#options
    return catalogue.find(name)?.definition ?? (await catalogue.current(name)).definition
  }

  /** The number below which all ids belong to earlier incarnations. Rejects as `definition` does. */
  async floor(name: string): Promise<bigint> {
    return (await this.#options.catalogue.current(name)).floor
  }

  /** A page of the generators that the caller may see. Rejects with NOAUTH, NOPERM, UNAVAILABLE. */
  async list(after: string | undefined, limit: number): Promise<ListPart> {
    this.demand('id.list')
    const { catalogue, server } = this.#context
    const { access, signal } = this.session
    return listedPart(catalogue, server.turns, { access, signal, after }, limit)
  }

  /**
   * Opens a generator to draw from: one that matches `auto-create` is created. Rejects with NOAUTH, NOPERM, NOGENERATOR,
   * UNAVAILABLE.
   */
  async open(name: string): Promise<Generator> {
    this.demand(issuing, name)
    return this.#context.catalogue.find(name) ?? (await this.#context.catalogue.open(name))
  }

  async #carryOut<Values extends { readonly name: string }, Answer>(
    { change, run }: GeneratorOperation<Values, Answer>,
    values: Values,
  ): Promise<Answer> {
    // It may change the permissions of its caller.
    const { user, administers } = this.session.access
    const answer = await run(this.#context, values)
    // False: there was nothing to change.
    if (change === undefined || answer === false) return answer
    const { address, door } = this.session
    this.#context.server.audit.record({
      event: change,
      user,
      address: addressOf(address).host,
      isOrdinary: !administers,
      door,
      object: values.name,
    })
    return answer
  }
}
