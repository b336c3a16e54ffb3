/**
 * Ids for Drizzle: a default of columns, and a batch for rows.
 *
 * Drizzle calls the default of a column while it builds the statement and does not wait. So `idDefault` takes ids that
 * are buffered in this process, and fails with DRY when none is. `withIds` waits, and takes one batch for all rows.
 */
import { FahaoError } from '../../../src/base/errors.ts'
import { type Id, type IdForm, idAs, MissingIds, type OrmGenerator } from './missing-ids.ts'

type Forms = { bigint: bigint; number: number; digits: string; text: string }

/**
 * A function for `$defaultFn`: each call gives the next buffered id, as a bigint unless `as` says otherwise. The function
 * throws DRY when no id is buffered, so that the insert fails before anything is sent; ids of the strict kinds (`sequence`,
 * `timestamp`) are never buffered. A number above 2^53−1 throws UNSAFE.
 */
export function idDefault<Form extends IdForm = 'bigint'>(
  generator: Pick<OrmGenerator, 'name' | 'tryNext' | 'tryNextText'>,
  as = 'bigint' as Form,
): () => Forms[Form] {
  return () => {
    const id = as === 'text' ? generator.tryNextText() : generator.tryNext()
    if (id === undefined)
      throw new FahaoError(
        'DRY',
        `no id of '${generator.name}' is buffered in this process; fill the rows with withIds, which waits`,
      )
    return (typeof id === 'bigint' ? idAs(id, as) : id) as Forms[Form]
  }
}

/**
 * Copies of rows in which `column` has an id wherever it was undefined: `db.insert(orders).values(await withIds(order,
 * 'id', rows))`. One batch for all rows. Rejects with the error of the generator.
 */
export async function withIds<Row extends object, Column extends string, Form extends IdForm = 'bigint'>(
  generator: OrmGenerator,
  column: Column,
  rows: readonly Row[],
  as = 'bigint' as Form,
): Promise<(Omit<Row, Column> & { [Key in Column]: Forms[Form] })[]> {
  const filled = rows.map((row) => ({ ...row }) as Record<string, unknown>)
  const missing = new MissingIds()
  for (const row of filled)
    if (row[column] === undefined)
      missing.add(generator, as, (id: Id) => {
        row[column] = id
      })
  await missing.draw()
  return filled as (Omit<Row, Column> & { [Key in Column]: Forms[Form] })[]
}
