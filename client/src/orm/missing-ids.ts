/**
 * Ids that the rows of one insert lack, drawn with as few calls as possible.
 *
 * Invariants
 *  1. One `draw` calls `nextBatch` at most once for each generator, however many rows and columns lack an id.
 *  2. No id is put before all ids of the insert have been drawn: after an error every row is as it was.
 */
import { FahaoError } from '../../../src/base/errors.ts'
import type { ClientGenerator } from '../generator.ts'

/** The part of a generator that hooks use. */
export type OrmGenerator = Pick<
  ClientGenerator,
  'name' | 'next' | 'nextBatch' | 'nextText' | 'tryNext' | 'tryNextText'
>

/**
 * The form of an id in a column. `digits` is the id as decimal text, as many drivers return 64-bit columns; `text` has
 * the generator's format; `number` fails with UNSAFE above 2^53−1.
 */
export type IdForm = 'bigint' | 'number' | 'digits' | 'text'

/** An id in one of its forms. */
export type Id = bigint | number | string

/** Where the ids of a column come from: a generator, or a generator with the form that the column wants. */
export type ColumnIds = OrmGenerator | { readonly generator: OrmGenerator; readonly as: IdForm }

/** Column (or property, or field) → generator. */
export type TableIds = { readonly [column: string]: ColumnIds }

/** Table (or model, or entity) → column → generator. */
export type Ids = { readonly [table: string]: TableIds }

/** A column to fill, with the form if the caller has chosen one. */
export type IdColumn = {
  readonly column: string
  readonly generator: OrmGenerator
  readonly as: IdForm | undefined
}

/** The columns of a table that ids are drawn for; none if the table is not named. */
export function columnsOf(ids: Ids, table: string): readonly IdColumn[] {
  // Own properties only: a table may be named as a method of objects is.
  if (!Object.hasOwn(ids, table)) return []
  return Object.entries(ids[table] as TableIds).map(([column, source]) =>
    'generator' in source
      ? { column, generator: source.generator, as: source.as }
      : { column, generator: source, as: undefined },
  )
}

/** An id in a form. Throws UNSAFE for a number above 2^53−1. `text` has no format here: see `MissingIds`. */
export function idAs(id: bigint, as: IdForm): Id {
  if (as === 'bigint') return id
  if (as !== 'number') return String(id)
  if (id > BigInt(Number.MAX_SAFE_INTEGER))
    throw new FahaoError(
      'UNSAFE',
      'the id is past 2^53−1, where numbers are not exact; declare the column as a 64-bit integer or as text',
    )
  return Number(id)
}

type Wanted = { readonly as: IdForm; readonly put: (id: Id) => void }

/** Collects the ids that an insert lacks, then draws them. */
export class MissingIds {
  readonly #wanted = new Map<OrmGenerator, Wanted[]>()

  /** Whether no id is missing. */
  get empty(): boolean {
    return this.#wanted.size === 0
  }

  /** Notes that an id is missing. `put` gets it once all have been drawn, rows in the order of these calls. */
  add(generator: OrmGenerator, as: IdForm, put: (id: Id) => void): void {
    const wanted = this.#wanted.get(generator)
    if (wanted) wanted.push({ as, put })
    else this.#wanted.set(generator, [{ as, put }])
  }

  /** Draws what is missing and puts it. Rejects with the error of the generator that failed. */
  async draw(): Promise<void> {
    const drawn = await Promise.all(
      [...this.#wanted].map(async ([generator, wanted]) => ({
        wanted,
        ids: await idsFor(generator, wanted),
      })),
    )
    for (const { wanted, ids } of drawn) for (const [at, { put }] of wanted.entries()) put(ids[at] as Id)
  }
}

/** One call for all ids without a format. Texts have none for several ids: the client serves one turn's from its buffer. */
async function idsFor(generator: OrmGenerator, wanted: readonly Wanted[]): Promise<readonly Id[]> {
  const plain = wanted.filter(({ as }) => as !== 'text').length
  const [ids, texts] = await Promise.all([
    plain === 0 ? [] : plain === 1 ? generator.next().then((id) => [id]) : generator.nextBatch(plain),
    Promise.all(Array.from({ length: wanted.length - plain }, () => generator.nextText())),
  ])
  let nextId = 0
  let nextText = 0
  return wanted.map(({ as }) =>
    as === 'text' ? (texts[nextText++] as string) : idAs(ids[nextId++] as bigint, as),
  )
}
