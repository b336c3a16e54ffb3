/** Whether the database refuses rows of filled tables that have no id, said to people and to scripts. */
import { describe, FahaoError } from '../base/errors.ts'
import type { Config } from '../config/config-schema.ts'
import { upstreamUrl } from '../config/mysql-proxy-settings.ts'
import { type Guard, triggerDdl } from '../proxy/guard-rules.ts'
import { guardReader } from '../proxy/known-guards.ts'
import { type FilledColumn, parseFilledColumn } from '../proxy/sql/configured-columns.ts'
import { UsageError } from './exit-codes.ts'
import { upstreamOf } from './proxy-server.ts'
import { printAnswer } from './terminal.ts'

/** Prints what each table lacks. Throws UsageError, UNAVAILABLE, and ERR if one lacks something. */
export async function checkTables(config: Config, options: { readonly json?: true }): Promise<void> {
  const upstream = await upstreamOf(config)
  if (upstream === undefined || config.table.length === 0)
    throw new UsageError(
      'nothing to look at; name the server with --upstream, and a column with --table DATABASE.TABLE.COLUMN=GENERATOR',
    )
  const columns = config.table.map(parseFilledColumn)
  const { guards } = await guardReader(upstream)(columns).catch((error) => {
    const message = `${upstreamUrl.show(upstream)} cannot be asked: ${describe(error)}; check its address, user and password`
    throw new FahaoError('UNAVAILABLE', message, { cause: error })
  })
  const found = [...guards]
  const answer = found.map(([column, guard]) => answerOf(column, guard))
  printAnswer(options, answer, found.map(([column, guard]) => textOf(column, guard)).join('\n'))
  const lacking = found.filter(([, { missing }]) => missing.length > 0)
  if (lacking.length > 0)
    throw new FahaoError(
      'ERR',
      `${lacking.length} of ${found.length} tables are not filled in, because the database would take rows without an id; run the statements above, and check again`,
    )
}

function answerOf(column: FilledColumn, { missing, ddl, by }: Guard) {
  return {
    column: nameOf(column),
    generator: column.generator,
    stands: missing.length === 0,
    by,
    missing,
    ddl,
  }
}

function textOf(column: FilledColumn, { missing, ddl, by, type, canSwitchChecks }: Guard): string {
  const lines =
    missing.length === 0
      ? [`${nameOf(column)}: the guard stands (${by})`]
      : [`${nameOf(column)}: ${missing.join('; ')}`, ...ddl]
  const isCheck = by === 'CHECK' || ddl.some((statement) => statement.includes(' CHECK '))
  if (!isCheck || type === undefined || (missing.length === 0 && !canSwitchChecks)) return lines.join('\n')
  const reason = canSwitchChecks ? ', which a session can switch off (check_constraint_checks = 0)' : ''
  return [...lines, `-- or, in place of the CHECK${reason}:`, triggerDdl(column, type)].join('\n')
}

function nameOf({ database, table, column }: FilledColumn): string {
  return `${database}.${table}.${column}`
}
