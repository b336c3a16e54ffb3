/**
 * Ids for Prisma: an extension of its client.
 *
 * Invariants
 *  1. The arguments of the caller are not changed: what lacks an id is copied.
 *  2. All ids that one operation lacks, nested ones too, are drawn by one batch of each generator.
 */
import { columnsOf, type Id, type IdForm, type Ids, MissingIds } from './missing-ids.ts'

type Field = { readonly name: string; readonly kind: string; readonly type: string }
type Models = Readonly<Record<string, { readonly fields: readonly Field[] }>>
type Data = Readonly<Record<string, unknown>>
type Operation = {
  readonly model?: string
  readonly operation: string
  readonly args: unknown
  readonly query: (args: never) => Promise<unknown>
}
type Client = { readonly $extends: unknown }

/** Arguments of operations, and keys of nested writes, whose value creates rows. */
const creating: Readonly<Record<string, readonly string[]>> = {
  create: ['data'],
  createMany: ['data'],
  createManyAndReturn: ['data'],
  upsert: ['create'],
}
/** Operations whose values can hold nested writes. */
const updating: Readonly<Record<string, readonly string[]>> = { update: ['data'], upsert: ['update'] }

/**
 * An extension for `prisma.$extends` that fills the fields of `ids` in every row that is created without them: by `create`,
 * `createMany`, `upsert`, and by writes nested in these or in `update`. Models and fields have the names of the schema. The
 * form of an id follows the type of the field: a bigint for BigInt, the generator's format for String, a number for Int; `as` wins. An
 * operation rejects with the error of the generator when ids cannot be drawn, and is not sent.
 */
export function idExtension(ids: Ids): <C extends Client>(client: C) => C {
  return (client) => {
    const models = (client as { readonly _runtimeDataModel?: { readonly models: Models } })._runtimeDataModel
    const schema = new Schema(models?.models ?? {}, ids)
    const extend = (client.$extends as (extension: object) => unknown).bind(client)
    return extend({
      name: 'fahao',
      query: {
        $allModels: {
          $allOperations: async ({ model = '', operation, args, query }: Operation) =>
            query((await schema.filled(model, operation, args)) as never),
        },
      },
    }) as typeof client
  }
}

/** The models that the extension knows, with the generators of their fields. */
class Schema {
  readonly #models: Models
  readonly #ids: Ids

  constructor(models: Models, ids: Ids) {
    this.#models = models
    this.#ids = ids
  }

  /** Arguments of an operation with the ids that its rows lack. */
  async filled(model: string, operation: string, args: unknown): Promise<unknown> {
    if (!isData(args)) return args
    const missing = new MissingIds()
    const copy: Record<string, unknown> = { ...args }
    for (const key of creating[operation] ?? [])
      copy[key] = each(args[key], (row) => this.#created(model, row, missing))
    for (const key of updating[operation] ?? [])
      copy[key] = each(args[key], (row) => this.#withNested(model, row, missing))
    await missing.draw()
    return copy
  }

  #created(model: string, given: Data, missing: MissingIds): Data {
    const row: Record<string, unknown> = this.#withNested(model, given, missing)
    for (const { column, generator, as } of columnsOf(this.#ids, model))
      if (row[column] === undefined)
        missing.add(generator, as ?? this.#formOf(model, column), (id: Id) => {
          row[column] = id
        })
    return row
  }

  /** A copy of the values of a row, in which nested writes have ids. */
  #withNested(model: string, given: Data, missing: MissingIds): Record<string, unknown> {
    const row: Record<string, unknown> = { ...given }
    for (const { name, kind, type } of this.#models[model]?.fields ?? [])
      if (kind === 'object' && isData(row[name])) row[name] = this.#nested(type, row[name], missing)
    return row
  }

  /** The nested writes of one relation: `{ create: …, upsert: … }`. */
  #nested(model: string, writes: Data, missing: MissingIds): Data {
    const create = (value: unknown) => each(value, (row) => this.#created(model, row, missing))
    const update = (value: unknown) => each(value, (row) => this.#withNested(model, row, missing))
    const inside = (value: unknown, change: Readonly<Record<string, (value: unknown) => unknown>>) =>
      each(value, (part) => {
        const copy: Record<string, unknown> = { ...part }
        for (const [key, changed] of Object.entries(change)) if (key in part) copy[key] = changed(part[key])
        return copy
      })
    const changes: Readonly<Record<string, (value: unknown) => unknown>> = {
      create,
      createMany: (value) => inside(value, { data: create }),
      connectOrCreate: (value) => inside(value, { create }),
      upsert: (value) => inside(value, { create, update }),
      // The update of a to-one relation may have its values at the top, or in `data`.
      update: (value) =>
        each(value, (part) => ('data' in part ? inside(part, { data: update }) : update(part)) as Data),
    }
    return inside(writes, changes) as Data
  }

  #formOf(model: string, field: string): IdForm {
    const type = this.#models[model]?.fields.find(({ name }) => name === field)?.type
    return type === 'String' ? 'text' : type === 'Int' ? 'number' : 'bigint'
  }
}

/** What `change` makes of one object, or of each object of a list; anything else as it is. */
function each(value: unknown, change: (data: Data) => Data): unknown {
  if (Array.isArray(value)) return value.map((one) => each(one, change))
  return isData(value) ? change(value) : value
}

function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null
}
