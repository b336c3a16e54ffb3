/**
 * Ids for MikroORM: a subscriber.
 *
 * Invariants
 *  1. All entities that one flush inserts take one batch of each generator.
 */
import { columnsOf, type Id, type IdForm, type Ids, MissingIds } from './missing-ids.ts'

type Entity = Record<string, unknown>
type ChangeSet = {
  readonly type: string
  readonly entity: Entity
  readonly meta: {
    readonly className: string
    readonly properties: Readonly<Record<string, { readonly runtimeType: string }>>
  }
}
type Unit = {
  getChangeSets(): readonly ChangeSet[]
  recomputeSingleChangeSet(entity: never): void
}

/**
 * Fills the properties of `ids` in every entity that a flush inserts without them, those of cascades too. Entities and
 * properties have the names of their classes. The form of an id follows the type of the property in JavaScript: a bigint, a number,
 * or text in the generator's format; `as` wins. A flush rejects with the error of the generator when ids cannot be drawn, and writes nothing.
 */
export class IdSubscriber {
  readonly #ids: Ids

  constructor(ids: Ids) {
    this.#ids = ids
  }

  /** Called by MikroORM. */
  async onFlush({ uow }: { readonly uow: object }): Promise<void> {
    const unit = uow as Unit
    const missing = new MissingIds()
    const changed = new Set<Entity>()
    for (const { type, entity, meta } of unit.getChangeSets()) {
      if (type !== 'create') continue
      for (const { column: property, generator, as } of columnsOf(this.#ids, meta.className)) {
        if (entity[property] !== undefined) continue
        changed.add(entity)
        missing.add(generator, as ?? formOf(meta.properties[property]?.runtimeType), (id: Id) => {
          entity[property] = id
        })
      }
    }
    await missing.draw()
    for (const entity of changed) unit.recomputeSingleChangeSet(entity as never)
  }
}

function formOf(type: string | undefined): IdForm {
  return type === 'number' ? 'number' : type === 'string' ? 'text' : 'bigint'
}
