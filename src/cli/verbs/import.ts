import { type Command, Option } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import { moveRow } from '../../legacy/import/move.ts'
import { forEachRow, type PlannedRow, planImport } from '../../legacy/import/plan.ts'
import { type ImportStores, openStores } from '../../legacy/import/stores.ts'
import { UsageError } from '../exit-codes.ts'
import { Progress } from '../progress.ts'
import { type FamilyPlan, importFromRedis, isRedisUrl, type RedisImportCounts } from '../redis-import.ts'
import { repeated } from '../repeatable-options.ts'
import { recordInStore } from '../store-audit.ts'
import { grouped, print, printAnswer, printJson, table } from '../terminal.ts'

type ImportOptions = {
  readonly from: string
  readonly into: string
  readonly dryRun?: true
  readonly oldNodesStopped?: true
  readonly maxId?: ReadonlyMap<string, bigint>
  readonly family?: string
  readonly json?: true
}

/** The result for one row. */
type Outcome = Awaited<ReturnType<typeof outcomeOf>>

/** `fahao import` */
export function addImport(command: Command): void {
  command
    .description(
      "Moves rows of the table of Leaf, an IdBuilder or tinyid into a store of Fahao's own, and takes each out of service there: it gets another name, under which no old node finds it. Within one database both are one transaction, and old nodes may run meanwhile. Run it again after a failure: it goes on where it was. From a Redis it moves counters to a running server, each at its number, and closes each on Redis: INCR is an error there from then on. The names are then patterns of keys.",
    )
    .requiredOption(
      '--from <URL>',
      'the database with the table: mysql://…?schema=leaf, idbuilder or tinyid; or a Redis: redis://…',
    )
    .requiredOption(
      '--into <URL>',
      'the store to move to, the same database or any other engine; from a Redis the running server: redis://…',
    )
    .option('--dry-run', 'show what each row would become, and change nothing')
    .option('--old-nodes-stopped', 'none of the old nodes runs: needed from one database to another')
    .addOption(
      repeated(
        new Option('--max-id <NAME=N>', 'the largest id of NAME that your tables hold; repeatable'),
        readMaxId,
      ),
    )
    .option(
      '--family <PATTERN>',
      'from a Redis: move the keys of this pattern into the family of this name, which begins above all of their numbers',
    )
    .option('--json', 'print JSON, for scripts')
    .addHelpText(
      'after',
      `
Examples:
  fahao import --from 'mysql://id@db/ids?schema=leaf' --into mysql://id@db/ids --dry-run
  fahao import order user --from 'mysql://id@db/ids?schema=leaf' --into mysql://id@db/ids --max-id order=123456
  fahao import --from 'mysql://id@db/ids?schema=tinyid' --into sqlite:./data/fahao.db --old-nodes-stopped
  fahao import 'order:*' --from redis://redis:6379 --into redis://fahao-1:7379 --dry-run
  fahao import --family 'room:*' --from redis://redis:6379 --into redis://fahao-1:7379 --dry-run`,
    )
    .action(async (names: string[], options: ImportOptions) => {
      if (isRedisUrl(options.from)) return importCounters(names, options)
      if (options.family !== undefined)
        throw new UsageError(
          '--family is for keys of a Redis; rows of a table become generators of their own',
        )
      const stores = await openStores(options.from, options.into, options.dryRun === true)
      try {
        await importRows(stores, names, options)
      } finally {
        await stores.close()
      }
    })
}

async function importCounters(patterns: readonly string[], options: ImportOptions): Promise<void> {
  const { from, into, family, dryRun = false } = options
  if (family !== undefined && patterns.length > 0)
    throw new UsageError('--family names the keys; leave the patterns out')
  if (options.maxId !== undefined || options.oldNodesStopped)
    throw new UsageError('--max-id and --old-nodes-stopped are for tables; from a Redis leave them out')
  const progress = new Progress('keys')
  const onProgress = ({ moved, movedBefore, left }: RedisImportCounts, total: number | undefined) =>
    progress.to(moved + movedBefore + left, total)
  let plan: FamilyPlan | undefined
  const onPlan = (planned: FamilyPlan) => {
    plan = planned
    // Before anything is changed.
    if (!options.json) print(planText(planned))
  }
  const counts = await importFromRedis({ from, into, patterns, family, dryRun, onProgress, onPlan }).finally(
    () => progress.end(),
  )
  const { failed, largest } = counts
  const shown = { ...counts, largest: `${largest}`, ...(plan && { begin: `${plan.begin}` }) }
  printAnswer(options, shown, countLines(counts, dryRun, plan))
  if (failed > 0)
    throw new FahaoError(
      'ERR',
      `${grouped(failed)} counters are closed on Redis and were not moved; see above, and run the import again`,
    )
}

function planText({ counters, largest, begin, jumpMean, jumpMost }: FamilyPlan): string {
  const jumps = `a jump of ${grouped(jumpMean)} on average and of ${grouped(jumpMost)} at most`
  return `${grouped(counters)} counters up to ${grouped(largest)}: each goes on at ${grouped(begin)} in the family, ${jumps}`
}

function countLines(counts: RedisImportCounts, dryRun: boolean, plan: FamilyPlan | undefined): string[] {
  const { moved, movedBefore, left, failed, largest, remarks } = counts
  const goesOn =
    plan === undefined
      ? `each goes on above its number, without a jump; the largest is ${grouped(largest)}`
      : `the names of the family go on at ${grouped(plan.begin)} or above`
  return [
    ...remarks,
    ...(left + failed > remarks.length ? [`… and ${grouped(left + failed - remarks.length)} more`] : []),
    `${grouped(moved)} counters ${dryRun ? 'would be moved' : 'moved'}: ${goesOn}`,
    ...(movedBefore > 0 ? [`${grouped(movedBefore)} had been moved before`] : []),
    ...(left > 0 ? [`${grouped(left)} keys are left as they are`] : []),
  ]
}

async function importRows(
  stores: ImportStores,
  names: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const maxIds = options.maxId ?? new Map<string, bigint>()
  const planned = await planImport(stores, {
    names,
    maxIds,
    nowUs: systemClock.wallUs(),
  })
  const there = new Set(planned.map(({ name }) => name))
  const missing = [...new Set([...names, ...maxIds.keys()])].filter((name) => !there.has(name))
  if (missing.length > 0)
    throw new UsageError(
      `there is no row ${missing.map((name) => `'${name}'`).join(', ')} in ${stores.table.schema.table}`,
    )
  const moves = planned.some(({ todo }) => todo === 'import')
  if (moves && !stores.together && !options.dryRun && !options.oldNodesStopped)
    throw new UsageError(
      'the table and the store are not in one database: stop the old nodes, and say so with --old-nodes-stopped',
    )
  // All rows or none: operators should not have to sort out half an import.
  const blocked = planned.some(({ problem }) => problem !== undefined)
  const onlyLook = options.dryRun === true || blocked
  const progress = new Progress('rows')
  const outcomes = await forEachRow(planned, async (row) => {
    const outcome = await outcomeOf(stores, row, onlyLook)
    progress.add(1, planned.length)
    return outcome
  }).finally(() => progress.end())
  const imported = outcomes.filter(({ changed }) => changed).map(({ name }) => name)
  if (imported.length > 0) await recordInStore(stores.target, 'import', imported)
  if (options.json) printJson(outcomes.map(({ changed: _, ...outcome }) => outcome))
  else print(...lines(outcomes))
  const failed = outcomes.filter((outcome) => outcome.failed).length
  if (failed === 0) return
  const rows = `${failed} of ${outcomes.length} rows`
  throw new FahaoError(
    'ERR',
    blocked
      ? `${rows} cannot be imported, so nothing was changed: correct these rows, or name the rows to import`
      : `${rows} were not imported; see above`,
  )
}

async function outcomeOf(stores: ImportStores, row: PlannedRow, onlyLook: boolean) {
  const shown = {
    name: row.name,
    bound: String(row.row.bound),
    step: String(row.row.options.step),
    becomes: becomes(row),
  }
  if (row.problem !== undefined) return { ...shown, outcome: row.problem, failed: true, changed: false }
  if (row.todo === 'nothing') return { ...shown, outcome: 'imported before', failed: false, changed: false }
  if (onlyLook)
    return {
      ...shown,
      outcome: row.todo === 'finish' ? 'would go live' : 'would be imported',
      failed: false,
      changed: false,
    }
  try {
    const bound = await moveRow(stores, row)
    return { ...shown, outcome: `imported, goes on from ${bound}`, failed: false, changed: true }
  } catch (error) {
    return { ...shown, outcome: describe(error), failed: true, changed: false }
  }
}

/** The generator in the words of the command that creates one. */
function becomes({ row: { options } }: PlannedRow): string {
  const { kind, increment = 1, offset, within, format } = options
  return [
    kind,
    increment === 1 ? '' : `increment ${increment} offset ${offset}`,
    within ?? '',
    format === undefined ? '' : `format ${format}`,
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function lines(outcomes: readonly Outcome[]): string[] {
  const failed = outcomes.filter((outcome) => outcome.failed).length
  return [
    ...table(
      ['name', 'bound', 'step', 'becomes', 'outcome'],
      outcomes.map(({ name, bound, step, becomes, outcome }) => [name, bound, step, becomes, outcome]),
    ),
    `${outcomes.length - failed} of ${outcomes.length} rows are in order`,
  ]
}

function readMaxId(
  text: string,
  before: ReadonlyMap<string, bigint> | undefined,
): ReadonlyMap<string, bigint> {
  const [, name, id] = /^(.+)=(\d{1,19})$/.exec(text) ?? []
  if (name === undefined || id === undefined)
    throw new UsageError(`--max-id '${text}' is not NAME=N with a whole number N`)
  if (before?.has(name)) throw new UsageError(`--max-id gives two ids of '${name}'; give the larger one`)
  return new Map(before).set(name, BigInt(id))
}
