/** Answers of the interpreter of PostgreSQL's parse tree to statements, without a server. */
import { loadModule, parseSync } from 'libpg-query'
import type { SessionFacts } from '../../../../src/postgres/query/analysed.ts'
import {
  analyseStatement,
  type ParameterInput,
  runStatement,
} from '../../../../src/postgres/query/catalog-query.ts'
import {
  Missing,
  type SequenceFacts,
  Snapshot,
  type Wanted,
} from '../../../../src/postgres/query/snapshot.ts'
import { textOfValue } from '../../../../src/postgres/query/text-output.ts'
import { SqlError } from '../../../../src/postgres/sql-error.ts'

await loadModule()

/** Columns as `name type modifier`, and the texts of rows; or an error. */
export type Answer =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly (string | null)[])[] }
  | { readonly error: string; readonly message: string }

/** A sequence with its last value. */
export type Sequence = SequenceFacts & { readonly last: bigint | null }

const session: SessionFacts = {
  user: 'admin',
  database: 'postgres',
  backendId: 7,
  transactionUs: 0n,
  serverStartUs: 0n,
  version: 'PostgreSQL 15.0',
  settings: [['search_path', '"$user", public']],
  cursors: [],
}

/** Sequences of a list, as they are asked for. */
export class Sequences {
  readonly #all: readonly Sequence[]
  /** What was asked for. */
  readonly asked: Wanted[] = []

  constructor(all: readonly Sequence[]) {
    this.#all = all
  }

  /** Loads what a run wants. */
  load(snapshot: Snapshot, wanted: Wanted): void {
    this.asked.push(wanted)
    const { names = [], oids = [], isAll = false, valuesOf = [] } = wanted
    const found = this.#all.filter(({ name, oid }) => isAll || names.includes(name) || oids.includes(oid))
    snapshot.add({
      found,
      isAll,
      missingNames: names.filter((name) => !found.some((each) => each.name === name)),
      missingOids: oids.filter((oid) => !found.some((each) => each.oid === oid)),
      values: valuesOf.map((name) => [name, this.#all.find((each) => each.name === name)?.last ?? null]),
    })
  }
}

/** The facts of a bigint sequence. */
export function sequence(name: string, oid: number, more: Partial<Sequence> = {}): Sequence {
  const max = 2n ** 63n - 1n
  return {
    name,
    oid,
    dataType: 'bigint',
    start: 1n,
    increment: 1n,
    min: 1n,
    max,
    cache: 1n,
    last: null,
    ...more,
  }
}

/** The answer to a statement. */
export function answerTo(
  text: string,
  sequences = new Sequences([]),
  values: readonly ParameterInput[] = [],
  declared: readonly number[] = [],
): Answer {
  try {
    const [first] = parseSync(text).stmts ?? []
    if (first?.stmt === undefined) throw new SqlError('42601', 'there is no statement')
    const analysed = analyseStatement(first.stmt, declared, text)
    const snapshot = new Snapshot()
    for (;;)
      try {
        const { rows, objects } = runStatement(analysed, values, { session, snapshot })
        const texts = rows.map((row) =>
          row.map((value, index) =>
            value === null ? null : textOfValue(value, analysed.columns[index]!.type, objects),
          ),
        )
        return {
          columns: analysed.columns.map(({ name, type, modifier }) => `${name} ${type} ${modifier}`),
          rows: texts,
        }
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        sequences.load(snapshot, error.wanted)
      }
  } catch (error) {
    if (error instanceof SqlError) return { error: error.sqlState, message: error.message }
    if (error instanceof Error && error.name === 'SqlError') return { error: '42601', message: error.message }
    throw error
  }
}
