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
import type { Arguments, ValuesOf } from './argument.ts'
import type { OperationContext, Services } from './context.ts'
import { nextOperation } from './drawing.ts'
import type { GeneratorOperation, Operation } from './operation.ts'
import { recordDenied } from './refusals.ts'
import type { Session } from './session.ts'

/** Has an operation carried out by the node that leads its generator. */
export type Leaders = {
  /** Whether another node is known to lead a generator, and can be asked. */
  isElsewhere(name: string): boolean
  /**
   * @param run carries it out on this node; rejects with `Moved` if another one leads.
   * @returns the answer of the leader. Rejects with the error that the leader has answered.
   */
  carryOut<Values extends { readonly name: string }, Answer>(
    operation: GeneratorOperation<Values, Answer>,
    values: Values,
    session: Pick<Session, 'access' | 'address'>,
    run: () => Promise<Answer>,
  ): Promise<Answer>
}

/** A node, as callers reach it. */
export type OperatingNode = {
  /** The generators of the node, not metered. */
  readonly catalogue: Catalogue
  readonly server: Services
  /** Undefined: there is no cluster. */
  readonly leaders?: Leaders | undefined
}

/** The part of a catalogue that issues and changes nothing. */
type Known = Pick<Catalogue, 'exists' | 'current'> & {
  find(name: string): Pick<Generator, 'definition'> | undefined
}

const issuing = nextOperation.name

/** One caller: one object for each connection. */
export class InProcessCaller {
  readonly session: Session
  /** What is known of all generators. The permissions of the caller do not matter: `demand` what is done with an answer. */
  readonly catalogue: Known
  readonly #leaders: Leaders | undefined
  readonly #context: OperationContext

  constructor(session: Session, { catalogue, server, leaders }: OperatingNode) {
    this.session = session
    this.catalogue = catalogue
    this.#leaders = leaders
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
    const leaders = this.#leaders
    if (leaders === undefined) return this.#carryOut(operation, values)
    return leaders.carryOut(operation, values, this.session, () => this.#carryOut(operation, values))
  }

  /** Carries out an operation on a generator that any node answers. Rejects as `run`. */
  async ask<Args extends Arguments, Answer>(
    { name, run }: Operation<Args, Answer>,
    generator: string,
    values: ValuesOf<Args>,
  ): Promise<Answer> {
    this.demand(name, generator)
    return run(this.#context, values)
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

  /** The definition of a generator. Errors: NOGENERATOR, UNAVAILABLE. The permissions of the caller do not matter. */
  async definition(name: string): Promise<Definition> {
    const { catalogue } = this
    return catalogue.find(name)?.definition ?? (await catalogue.current(name)).definition
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
    // The operation may change the permissions of its caller.
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
