/** SELECT of anything but sequences alone: what the evaluator (`sql/select.ts`) asks of a session, and its results. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Definition } from '../catalogue/definition.ts'
import { max63 } from '../ids/limits.ts'
import { turns } from '../node/turns.ts'
import { draw } from './drawing.ts'
import { nameOfText } from './names.ts'
import { nowUs } from './postgres-time.ts'
import { callFunction } from './sequence-functions.ts'
import type { Session, Statement } from './session.ts'
import type { Token } from './sql/lexer.ts'
import type { SequenceFacts, SequenceList, SequencePage, SqlSession } from './sql/plan.ts'
import { compileSelect } from './sql/select.ts'
import type { Value } from './sql/values.ts'
import { pacing, pause, workOf } from './turn.ts'

/**
 * Reads SELECT, WITH, VALUES or TABLE from its tokens, `end` included. Throws SqlError. @param parameterTypes the oids of the
 * parameters that have a type.
 */
export function readCatalogueSelect(
  tokens: readonly Token[],
  parameterTypes: readonly number[] = [],
): Statement {
  const { parameters, columns, allColumns, run } = compileSelect(tokens, parameterTypes)
  return {
    parameters,
    columns,
    heldBytes: allColumns * columnBytes,
    async run(session, values) {
      const { signal } = session.caller.session
      const result = await run(sqlSession(session), values, { signal, pause, onSlice })
      const heldBytes = result.count * rowBytes + result.cells * cellBytes
      return { tag: 'SELECT', ...result, heldBytes }
    },
  }
}

/** Others wait for the parts of short queries too. */
const onSlice = (elapsedUs: number): void => turns.spend(workOf(elapsedUs))

/** About what a column takes in a compiled query: measured with `SELECT * FROM pg_class`. */
const columnBytes = 600
/** About what a row of a result takes, and each value or character that is kept for it. */
const rowBytes = 96
const cellBytes = 16

const serverStartUs = nowUs()

function sqlSession(session: Session): SqlSession {
  const { settings, login, caller } = session
  return {
    user: login.user,
    database: login.database,
    backendId: caller.session.id % 2 ** 31,
    transactionUs: nowUs(),
    serverStartUs,
    version: `PostgreSQL ${settings.get('server_version')}`,
    sequences: new Sequences(session),
    setting: (name) => settings.get(name),
    settings: () => settings.all(),
    changeSetting(name, value, isLocal) {
      settings.set(name, value, isLocal)
      return settings.get(name)!
    },
    cursors: () => session.cursors.all(),
    users: () => [],
    call: (name, calls) => callAll(session, name, calls),
  }
}

/** So many ids of neighbouring rows come from one request. */
const batchMax = 500

async function callAll(
  session: Session,
  name: string,
  calls: readonly (readonly Value[])[],
): Promise<readonly Value[]> {
  const results: Value[] = []
  const pace = pacing(session)
  while (results.length < calls.length) {
    await pace()
    const call = calls[results.length]!.map(String)
    const count = name === 'nextval' ? repeats(calls, results.length) : 1
    if (count > 1) {
      const ids = await draw(session, nameOfText(call[0]!), count)
      for (let index = 0; index < count; index++) results.push(BigInt(ids.at(index)))
    } else {
      const result = await callFunction(session, name, call)
      results.push(result === null ? null : BigInt(result))
    }
  }
  return results
}

/** How many calls from `from` on name the same sequence. */
function repeats(calls: readonly (readonly Value[])[], from: number): number {
  let to = from
  while (to < calls.length && to - from < batchMax && calls[to]![0] === calls[from]![0]) to++
  return to - from
}

/** The generators that the caller may see, as sequences. */
class Sequences implements SequenceList {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async find(name: string): Promise<SequenceFacts | undefined> {
    const { caller } = this.#session
    if (!caller.session.access.reaches(name)) return undefined
    caller.demand('ID.INFO', name)
    try {
      return factsOf(name, await caller.definition(name))
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR') || isBadName(error)) return undefined
      throw error
    }
  }

  reaches(name: string): boolean {
    return this.#session.caller.session.access.reaches(name)
  }

  async page(after: string | undefined, limit: number): Promise<SequencePage> {
    const { found, next } = await this.#session.caller.list({
      ...(after === undefined ? {} : { after }),
      limit,
    })
    return { found: found.map(({ name, definition }) => factsOf(name, definition)), next }
  }

  /** A value that the caller may not read, or that cannot be read now, is not shown. */
  async lastValues(names: readonly string[]): Promise<readonly (bigint | undefined)[]> {
    const { caller } = this.#session
    const { access } = caller.session
    const values: (bigint | undefined)[] = []
    for (const name of names) {
      const isReadable = access.unrestricted || (access.allows('get') && access.reaches(name))
      values.push(isReadable ? await this.#lastValue(name) : undefined)
    }
    return values
  }

  async #lastValue(name: string): Promise<bigint | undefined> {
    try {
      const newest = await this.#session.caller.run('GET', name)
      return typeof newest === 'string' && /^\d+$/.test(newest) ? BigInt(newest) : undefined
    } catch (error) {
      if (error instanceof FahaoError && error.code !== 'ABORTED') return undefined
      throw error
    }
  }
}

/** No generator has a name of this form. */
function isBadName(error: unknown): boolean {
  return hasCode(error, 'ERR')
}

const integerMax = 2n ** 31n - 1n
const smallintMax = 2n ** 15n - 1n

function factsOf(name: string, { start = 1n, increment = 1, max = max63 }: Definition): SequenceFacts {
  return {
    name,
    dataType: max === integerMax ? 'integer' : max === smallintMax ? 'smallint' : 'bigint',
    start,
    increment: BigInt(increment),
    min: start < 1n ? start : 1n,
    max: BigInt(max),
    cache: 1n,
  }
}
