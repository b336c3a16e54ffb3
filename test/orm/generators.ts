/** Generators of a real client of a real server: answers are passed on, and what a hook asks is written down. */
import { after } from 'node:test'
import { connect } from '../../client/src/index.ts'
import type { OrmGenerator } from '../../client/src/orm/missing-ids.ts'
import { startFahao } from '../launch/fahao.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** The generators of the table of orders. */
export type Generators = {
  /** Numbers from 2^60 on. */
  readonly order: Watched
  /** Small numbers. */
  readonly short: Watched
  /** Texts of the form `c-000123-4`. */
  readonly code: Watched
  /** As `short`, and has three ids only. */
  readonly three: Watched
}

/** A generator, and what was asked of it. */
export class Watched implements OrmGenerator {
  readonly name: string
  /** The calls in their order: `next`, `nextBatch 5`, `nextText`. */
  readonly calls: string[] = []
  /** All ids that were given. */
  readonly ids: (bigint | string)[] = []
  readonly #generator: OrmGenerator

  constructor(generator: OrmGenerator) {
    this.name = generator.name
    this.#generator = generator
  }

  next(): Promise<bigint> {
    return this.#given('next', this.#generator.next())
  }

  nextText(): Promise<string> {
    return this.#given('nextText', this.#generator.nextText())
  }

  async nextBatch(count: number): Promise<bigint[]> {
    this.calls.push(`nextBatch ${count}`)
    const ids = await this.#generator.nextBatch(count)
    this.ids.push(...ids)
    return ids
  }

  tryNext(): bigint | undefined {
    return this.#tried('tryNext', this.#generator.tryNext())
  }

  tryNextText(): string | undefined {
    return this.#tried('tryNextText', this.#generator.tryNextText())
  }

  async #given<Id extends bigint | string>(call: string, answer: Promise<Id>): Promise<Id> {
    this.calls.push(call)
    const id = await answer
    this.ids.push(id)
    return id
  }

  #tried<Id extends bigint | string>(call: string, id: Id | undefined): Id | undefined {
    this.calls.push(call)
    if (id !== undefined) this.ids.push(id)
    return id
  }
}

const server = startFahao({ after })
let tests = 0

/** Creates them on the server of this process, and opens them with a client; it closes at the end of the lifetime. */
export async function openGenerators(lifetime: Lifetime): Promise<Generators> {
  const { resp } = await server
  const client = await connect(`redis://127.0.0.1:${resp}`)
  atEnd(lifetime, () => client.close())
  const admin = await (await server).connect()
  tests++
  const opened = async (name: string, kind: string, ...options: string[]) => {
    await admin.command('ID.CREATE', `${name}-${tests}`, 'KIND', kind, ...options)
    return new Watched(await client.generator(`${name}-${tests}`))
  }
  return {
    order: await opened('order', 'segment', 'START', String(2n ** 60n)),
    short: await opened('short', 'segment'),
    code: await opened('code', 'segment', 'FORMAT', 'c-{id:6}-{check:luhn}'),
    three: await opened('three', 'sequence', 'MAX', '3'),
  }
}
