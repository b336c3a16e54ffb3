/** What one running statement has at hand, and the names and oids of objects. */
import type { Budget } from './budget.ts'
import type { Catalogue } from './catalogue/catalogue.ts'
import { schemas } from './catalogue/fixed-oids.ts'
import { functionNamesByOid, functionOidsByName } from './catalogue/fixed-rows.ts'
import { roles } from './catalogue/session-rows.ts'
import {
  type Context,
  Missing,
  type Narrowing,
  type Row,
  type SqlSession,
  type Steps,
  type Table,
} from './plan.ts'
import { quoteIdentifier, splitName } from './quoting.ts'
import { SqlError } from './sql-error.ts'
import { drainSteps } from './steps.ts'
import { generatorName } from './tables.ts'
import type { ObjectOids } from './text-input.ts'
import type { ObjectNames } from './text-output.ts'
import { relationNamed, relationOf } from './types.ts'
import type { Value } from './values.ts'

/** A running statement. */
export class StatementContext implements Context {
  readonly budget: Budget
  readonly session: SqlSession
  readonly objects: ObjectOids & ObjectNames
  readonly parameters: readonly Value[]
  readonly memory = new Map<object, unknown>()
  readonly working = new Map<object, readonly Row[]>()
  readonly #catalogue: Catalogue
  #draining = 0

  constructor(session: SqlSession, catalogue: Catalogue, budget: Budget, parameters: readonly Value[]) {
    this.session = session
    this.budget = budget
    this.parameters = parameters
    this.#catalogue = catalogue
    this.objects = new Objects(session, catalogue)
  }

  get canWait(): boolean {
    return this.#draining === 0
  }

  scan(table: Table, narrowing: Narrowing): readonly Row[] | Promise<unknown> {
    return this.#catalogue.scan(table, narrowing, this.#draining > 0)
  }

  drain<T>(steps: Steps<T>): T {
    this.#draining++
    this.budget.step(8)
    try {
      return drainSteps(steps)
    } finally {
      this.#draining--
    }
  }
}

/** Names by oids, and oids by names. */
class Objects implements ObjectNames, ObjectOids {
  readonly #session: SqlSession
  readonly #catalogue: Catalogue

  constructor(session: SqlSession, catalogue: Catalogue) {
    this.#session = session
    this.#catalogue = catalogue
  }

  relation(oid: number): string | undefined
  relation(text: string): number
  relation(key: number | string): number | string | undefined {
    return typeof key === 'number' ? this.#nameOfRelation(key) : this.#oidOfRelation(key)
  }

  function(oid: number): string | undefined
  function(text: string): number
  function(key: number | string): number | string | undefined {
    if (typeof key === 'number') return functionNamesByOid.get(key)
    const name = splitName(key).at(-1)!
    const [oid, ...others] = functionOidsByName.get(name) ?? []
    if (oid === undefined) throw new SqlError('42883', `function "${key}" does not exist`)
    if (others.length > 0) throw new SqlError('42725', `more than one function named "${key}"`)
    return oid
  }

  schema(oid: number): string | undefined
  schema(text: string): number
  schema(key: number | string): number | string | undefined {
    if (typeof key === 'number') return schemas.get(key)
    const name = splitName(key)[0]!
    const found = [...schemas].find(([, each]) => each === name)
    if (!found) throw new SqlError('3F000', `schema "${name}" does not exist`)
    return found[0]
  }

  role(oid: number): string | undefined
  role(text: string): number
  role(key: number | string): number | string | undefined {
    const all = roles(this.#session)
    if (typeof key === 'number') return all.find(([oid]) => oid === key)?.[1]
    const name = splitName(key)[0]!
    const found = all.find(([, each]) => each === name)
    if (!found) throw new SqlError('42704', `role "${name}" does not exist`)
    return found[0]
  }

  #nameOfRelation(oid: number): string | undefined {
    const relation = relationOf(oid)
    if (relation) return relation.isInformation ? `information_schema.${relation.name}` : relation.name
    const name = this.#catalogue.nameOf(oid)
    if (name === undefined) return undefined
    // A relation of PostgreSQL's goes before a sequence of the same name.
    return relationNamed(name) ? `public.${quoteIdentifier(name)}` : quoteIdentifier(name)
  }

  #oidOfRelation(text: string): number {
    const names = splitName(text)
    const [name, schema] = [names.at(-1)!, names.at(-2)]
    const relation = schema === 'public' ? undefined : relationNamed(name, schema)
    if (relation) return relation.oid
    const oid =
      schema === 'pg_catalog' || schema === 'information_schema'
        ? undefined
        : this.#catalogue.oidOf(generatorName(names))
    if (oid instanceof Promise) throw new Missing(oid)
    if (oid === undefined) throw new SqlError('42P01', `relation "${text}" does not exist`)
    return oid
  }
}
