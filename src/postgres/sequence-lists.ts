/** What queries ask of a session: its facts, and the sequences that its user may see. */
import { systemClock } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Definition } from '../catalogue/definition.ts'
import { max63 } from '../ids/limits.ts'
import { newestOperation } from '../operations/newest.ts'
import { unknownRelation } from './errors.ts'
import { nextTurn, turnTaking } from './long-statements.ts'
import { OidRegistry } from './oid-registry.ts'
import type { SessionFacts } from './query/analysed.ts'
import type { Loaded, SequenceFacts, Wanted } from './query/snapshot.ts'
import type { Requester } from './query-queue.ts'
import type { Session } from './session.ts'

/** The most sequences, and the most last values, that are loaded at a time. */
const pageMax = 200

/** PostgreSQL counts from here, in µs since 1970. */
const epochUs = Date.UTC(2000, 0, 1) * 1000

/** The time of this machine, in µs since 2000-01-01. */
export function nowUs(): bigint {
  return BigInt(Math.round(systemClock.wallUs() - epochUs))
}

/** The oids of the sequences that this process has shown. */
const registry = new OidRegistry()
const serverStartUs = nowUs()

/** What functions ask of a session. */
export function factsOf(session: Session): SessionFacts {
  const { settings, login, caller, cursors } = session
  return {
    user: login.user,
    database: login.database,
    backendId: caller.session.id % 2 ** 31,
    transactionUs: nowUs(),
    serverStartUs,
    version: `PostgreSQL ${settings.get('server_version')}`,
    get settings() {
      return settings.all()
    },
    get cursors() {
      return cursors.all()
    },
  }
}

/** A session for which a query runs. */
export function requesterOf(session: Session): Requester {
  const { settings, caller, login } = session
  return {
    user: login.user,
    signal: caller.session.signal,
    timeoutMs: settings.milliseconds('statement_timeout'),
    load: (wanted, give) => load(session, wanted, give),
  }
}

/** Loads what a run wants, in parts. Rejects with 42501 where the user may not read it, 57014 once it is cancelled. */
export async function load(
  session: Session,
  { names = [], oids = [], isAll = false, valuesOf = [] }: Wanted,
  give: (loaded: Loaded, isLast: boolean) => void,
): Promise<void> {
  // The oids of sequences that this process has not shown are known once all are listed.
  if (isAll || oids.some((oid) => registry.nameOf(oid) === undefined)) await loadAll(session, give)
  const takeTurn = turnTaking(session)
  for (const name of names) {
    await takeTurn()
    const facts = await find(session, name)
    give(facts ? { found: [facts] } : { found: [], missingNames: [name] }, false)
  }
  for (const oid of oids) {
    await takeTurn()
    const name = registry.nameOf(oid)
    const facts = name === undefined ? undefined : await find(session, name)
    give(facts ? { found: [facts] } : { found: [], missingOids: [oid] }, false)
  }
  for (let from = 0; from < valuesOf.length; from += pageMax) {
    await nextTurn()
    const values: [string, bigint | null, bigint?][] = []
    for (const name of valuesOf.slice(from, from + pageMax))
      values.push([name, ...(await lastValueOf(session, name))])
    give({ found: [], values }, false)
  }
  give({ found: [] }, true)
}

async function loadAll(session: Session, give: (loaded: Loaded, isLast: boolean) => void): Promise<void> {
  const { caller } = session
  const { signal } = caller.session
  let after: string | undefined
  do {
    const page = await caller.list(after, pageMax)
    give({ found: page.found.map(({ name, definition }) => sequenceOf(name, definition)) }, false)
    after = page.next
    await nextTurn()
    signal.throwIfAborted()
  } while (after !== undefined)
  give({ found: [], isAll: true }, false)
}

/** Demands that each of these names is a sequence's. Rejects with 42P01. */
export async function demandSequences(session: Session, names: Iterable<string>): Promise<void> {
  for (const name of names) if ((await find(session, name)) === undefined) throw unknownRelation(name)
}

async function find({ caller }: Session, name: string): Promise<SequenceFacts | undefined> {
  if (!caller.session.access.reaches(name)) return undefined
  caller.demand('id.info', name)
  try {
    return sequenceOf(name, await caller.definition(name))
  } catch (error) {
    // ERR: no generator has a name of this form.
    if (hasCode(error, 'NOGENERATOR') || hasCode(error, 'ERR')) return undefined
    throw error
  }
}

/** The last value of a sequence, or the first that it will have. What the user may not read, or cannot be read now, is neither. */
async function lastValueOf({ caller }: Session, name: string): Promise<[bigint | null, bigint?]> {
  const { access } = caller.session
  if (!access.unrestricted && !(access.allows(newestOperation.name) && access.reaches(name))) return [null]
  try {
    const newest = await caller.run(newestOperation, { name })
    if (newest !== undefined) return [newest]
    const { definition, floor } = await caller.catalogue.current(name)
    const { start = 1n } = definition
    return [null, floor > start ? floor : start]
  } catch (error) {
    if (error instanceof FahaoError && error.code !== 'ABORTED') return [null]
    throw error
  }
}

const integerMax = 2n ** 31n - 1n
const smallintMax = 2n ** 15n - 1n

function sequenceOf(name: string, { start = 1n, increment = 1, max = max63 }: Definition): SequenceFacts {
  return {
    name,
    oid: registry.oidOf(name),
    dataType: max === integerMax ? 'integer' : max === smallintMax ? 'smallint' : 'bigint',
    start,
    increment: BigInt(increment),
    min: start < 1n ? start : 1n,
    max: BigInt(max),
    cache: 1n,
  }
}
