/** Ids for Sequelize: hooks of one instance of it. */
import { columnsOf, type Id, type IdForm, type Ids, MissingIds } from './missing-ids.ts'

type Attributes = Readonly<Record<string, { readonly type: unknown }>>
type Model = { readonly name: string; readonly rawAttributes: Attributes }
type Instance = {
  readonly isNewRecord: boolean
  readonly constructor: unknown
  getDataValue(attribute: string): unknown
  setDataValue(attribute: string, value: unknown): void
}
type AddHook = (hook: string, name: string, run: (...args: never[]) => unknown) => unknown

/**
 * Fills the attributes of `ids` in every instance that is inserted without them: `create`, `save`, `bulkCreate` and their
 * `include`s. `bulkCreate` takes one batch; each instance of an `include` under `create` draws for itself. Models have
 * the name that they were defined by. The form of an id follows the type of the attribute: decimal text for BIGINT, as Sequelize reads it,
 * the generator's format for STRING, TEXT and CHAR, a number for the rest; `as` wins. An insert rejects with the error of the
 * generator when ids cannot be drawn. A second call for the same instance replaces the first.
 */
export function addIds<S extends { addHook: unknown; removeHook: unknown }>(sequelize: S, ids: Ids): S {
  const one = (instance: Instance) => filled([instance], ids)
  const many = (instances: readonly Instance[]) => filled(instances, ids)
  const add = (sequelize.addHook as AddHook).bind(sequelize)
  const remove = (sequelize.removeHook as (hook: string, name: string) => unknown).bind(sequelize)
  // Validation wants a value where null is not allowed; it can be switched off, and then only the later hook is called.
  for (const hook of ['beforeValidate', 'beforeCreate', 'beforeBulkCreate']) {
    remove(hook, 'fahao')
    add(hook, 'fahao', hook === 'beforeBulkCreate' ? many : one)
  }
  return sequelize
}

async function filled(instances: readonly Instance[], ids: Ids): Promise<void> {
  const missing = new MissingIds()
  for (const instance of instances) {
    if (!instance.isNewRecord) continue
    const model = instance.constructor as Model
    for (const { column, generator, as } of columnsOf(ids, model.name)) {
      const value = instance.getDataValue(column)
      // A primary key that was not given is null.
      if (value !== undefined && value !== null) continue
      missing.add(generator, as ?? formOf(model.rawAttributes[column]?.type), (id: Id) =>
        instance.setDataValue(column, id),
      )
    }
  }
  await missing.draw()
}

function formOf(type: unknown): IdForm {
  const { key } = (type ?? {}) as { readonly key?: string }
  if (key === 'BIGINT') return 'digits'
  return key === 'STRING' || key === 'TEXT' || key === 'CHAR' || key === 'CITEXT' || key === 'UUID'
    ? 'text'
    : 'number'
}
