/**
 * Ids for TypeORM: a subscriber.
 *
 * TypeORM announces each entity of a statement in the same turn and waits for all subscribers. So what one turn lacks is
 * drawn together.
 *
 * Invariants
 *  1. Entities that are announced in one turn take one batch of each generator.
 */
import { columnsOf, type Id, type IdForm, type Ids, MissingIds } from './missing-ids.ts'

type Column = {
  readonly type: unknown
  getEntityValue(entity: object): unknown
  setEntityValue(entity: object, value: unknown): void
}
type Metadata = { readonly name: string; findColumnWithPropertyPath(path: string): Column | undefined }
type Event = { readonly entity: object | undefined; readonly metadata: Metadata }

/**
 * Fills the properties of `ids` in every entity that is inserted without them: by `save`, cascades too, by `insert` and by
 * query builders. Entities and properties have the names of their classes. The form of an id follows the type of the
 * column: decimal text for `bigint`, as TypeORM reads it, the generator's format for texts, a number for the rest;
 * `as` wins. An insert rejects with the error of the generator when ids cannot be drawn.
 */
export class IdSubscriber {
  readonly #ids: Ids
  #turn: { readonly missing: MissingIds; readonly drawn: Promise<void> } | undefined

  constructor(ids: Ids) {
    this.#ids = ids
  }

  /** Called by TypeORM. */
  beforeInsert({ entity, metadata }: Event): Promise<void> | undefined {
    if (!entity) return undefined
    let drawn: Promise<void> | undefined
    for (const { column: property, generator, as } of columnsOf(this.#ids, metadata.name)) {
      const column = metadata.findColumnWithPropertyPath(property)
      if (!column || column.getEntityValue(entity) !== undefined) continue
      const turn = this.#thisTurn()
      turn.missing.add(generator, as ?? formOf(column.type), (id: Id) => column.setEntityValue(entity, id))
      drawn = turn.drawn
    }
    return drawn
  }

  #thisTurn() {
    if (this.#turn) return this.#turn
    const missing = new MissingIds()
    const drawn = Promise.resolve().then(() => {
      this.#turn = undefined
      return missing.draw()
    })
    this.#turn = { missing, drawn }
    return this.#turn
  }
}

function formOf(type: unknown): IdForm {
  if (type === 'bigint' || type === 'int8' || type === 'unsigned big int' || type === BigInt) return 'digits'
  return type === String || (typeof type === 'string' && /char|text|string|uuid/.test(type))
    ? 'text'
    : 'number'
}
