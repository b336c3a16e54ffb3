/**
 * Writes ids into INSERT and REPLACE statements.
 *
 * The first integer id of a statement is written as `LAST_INSERT_ID(id)`, by which the server itself sets both
 * LAST_INSERT_ID() and the insert id of its reply (`THD::arg_of_last_insert_id_function` in `sql/sql_insert.cc`).
 * Where the statement reads LAST_INSERT_ID(), as it was before, the call is the last thing that the last row evaluates:
 * servers evaluate rows, and the values of a row, in the order in which they are written.
 */
import assert from 'node:assert/strict'
import type { Charset } from './charsets.ts'
import { diagnosticsSlices } from './diagnostics.ts'
import { applyEdits, type Edit } from './edits.ts'
import { type Insert, needsId, type OnDuplicate, type RowId } from './insert.ts'
import { parametersMax } from './lexer.ts'
import { atOnce, type Slices, sliceRows } from './slices.ts'
import { isAscii, latin1, sameColumn } from './words.ts'

const [dollar, rightParen, comma] = [36, 41, 44]

/** Ids of one generator, in the order of the rows that need them. */
export type DrawnIds = {
  /** Decimal, or formatted texts. */
  readonly ids: readonly string[]
  readonly isText: boolean
}

/** The text with ids written into it; `drawn` has the ids of each of `inserts`, as many as `idsNeeded` says. */
export function fillText(sql: Buffer, inserts: readonly Insert[], drawn: readonly DrawnIds[]): Buffer {
  return atOnce(fillSlices(sql, inserts, drawn))
}

/** The same in slices, for a long text. */
export function* fillSlices(
  sql: Buffer,
  inserts: readonly Insert[],
  drawn: readonly DrawnIds[],
): Slices<Buffer> {
  const edits: Edit[] = []
  for (const [index, insert] of inserts.entries()) {
    const { ids, isText } = drawn[index]!
    const places: number[] = []
    let needed = 0
    for (const [row, each] of insert.rows.entries()) places[row] = needsId(each) ? needed++ : -1
    const idOf = (row: number) => ({ text: literal(ids[places[row]!], isText), hidden: [] })
    yield* addEdits(edits, sql, insert, { isText, idOf, namesColumns: false, bindsId: false })
    if (index % sliceRows === sliceRows - 1) yield
  }
  return yield* applyEdits(sql, edits)
}

/** A statement to prepare, and what to bind to its parameters. */
export type PreparedFill = {
  readonly sql: Buffer
  /** What each parameter of `sql` is: the client's parameter n, from 0; or -1 - n: the id of row n. */
  readonly parameters: readonly number[]
  /** Whether the statement sets the insert id by itself whenever an execution draws ids. */
  readonly setsInsertId: boolean
  /** Whether it reads what an earlier statement has left, such as ROW_COUNT(). */
  readonly readsDiagnostics: boolean
}

/** The statement with a hidden parameter for each id that its text lacks. `parametersAt` are the client's parameters. */
export function fillPrepared(
  sql: Buffer,
  insert: Insert,
  parametersAt: readonly number[],
  isText: boolean,
): PreparedFill {
  return atOnce(preparedSlices(sql, insert, parametersAt, isText))
}

/** The same in slices, for a long text. */
export function* preparedSlices(
  sql: Buffer,
  insert: Insert,
  parametersAt: readonly number[],
  isText: boolean,
): Slices<PreparedFill> {
  const edits: Edit[] = []
  const idOf = (row: number) => ({ text: '?', hidden: [row] })
  const bindsId = bindsInsertId(insert, isText, parametersAt.length)
  yield* addEdits(edits, sql, insert, { isText, idOf, namesColumns: true, bindsId })
  const parameters: number[] = []
  let client = 0
  for (const { at, hidden } of edits) {
    while (client < parametersAt.length && parametersAt[client]! < at) parameters.push(client++)
    for (const row of hidden) parameters.push(-1 - row)
  }
  while (client < parametersAt.length) parameters.push(client++)
  const sets = bindsId || setsInsertId(insert, isText)
  return {
    sql: yield* applyEdits(sql, edits),
    parameters,
    setsInsertId: sets,
    readsDiagnostics: yield* diagnosticsSlices(sql),
  }
}

/**
 * Whether the client's parameters are all ids that may be drawn, of an ON DUPLICATE KEY UPDATE. Only the server knows then
 * whether a row was inserted, so only the statement itself can set the insert id.
 */
function bindsInsertId({ rows, onDuplicate }: Insert, isText: boolean, count: number): boolean {
  if (isText || onDuplicate === undefined || count + rows.length > parametersMax) return false
  return rows.length > 0 && rows.every(({ state }) => state === 'parameter')
}

/** The id's parameter, or, if that is NULL, another one that sets the insert id. */
function boundEdits({ start, end }: RowId, row: number): Edit[] {
  return [add(start, 'IFNULL('), { at: end, end, text: ', LAST_INSERT_ID(?))', hidden: [row] }]
}

function setsInsertId(insert: Insert, isText: boolean): boolean {
  return !isText && insert.rows.some(needsId) && insert.rows.every(({ state }) => state !== 'parameter')
}

/** A piece of a statement, and the rows whose ids its parameters are. */
type Piece = { readonly text: string; readonly hidden: readonly number[] }

/** How a statement is written. */
type Writing = {
  readonly isText: boolean
  readonly idOf: (row: number) => Piece
  /** Whether a statement without a list of columns gets one, so that it means the same when the table is altered. */
  readonly namesColumns: boolean
  /** See `bindsInsertId`. */
  readonly bindsId: boolean
}

/** Adds the edits of a statement to `edits`. */
function* addEdits(
  edits: Edit[],
  sql: Buffer,
  insert: Insert,
  { isText, idOf, namesColumns, bindsId }: Writing,
): Slices<void> {
  const push = (...added: readonly Edit[]) => {
    for (const edit of added) edits.push(separated(sql, edit))
  }
  const { rows, onDuplicate, aliasAt } = insert
  const setsId = setsInsertId(insert, isText)
  const isLate = setsId && insert.readsLastInsertId
  const first = rows.findIndex(needsId)
  const moved = isLate && isFollowed(insert)
  if (first >= 0) push(...columnEdits(sql, insert, moved))
  if (namesColumns && !moved) push(...listEdits(insert))
  for (const [index, row] of rows.entries()) {
    const own = needsId(row) ? idOf(index) : undefined
    const value = setsId ? settingValue() : own
    if (bindsId) push(...boundEdits(row, index))
    if (value || moved) push(...rowEdits(insert, row, value ?? givenValue(sql, row), moved))
    if (index % sliceRows === sliceRows - 1) yield

    function settingValue(): Piece | undefined {
      if (!isLate) return own && index === first ? call(own) : own
      if (index < rows.length - 1) return own
      return index === first ? call(own!) : afterCall(idOf(first), own ?? givenValue(sql, row))
    }
  }
  if (aliasAt !== undefined && first >= 0 && isAdded(insert)) push(add(aliasAt, ', _fahao_id'))
  if (onDuplicate && !onDuplicate.decidesId && !isText && rows.some(({ state }) => state !== 'given'))
    push(ownId(sql, insert, onDuplicate))
}

function call({ text, hidden }: Piece): Piece {
  return { text: `LAST_INSERT_ID(${text})`, hidden }
}

/** A value that sets the insert id to another one when it is evaluated. No id is negative. */
function afterCall(first: Piece, value: Piece): Piece {
  return {
    text: `IF(LAST_INSERT_ID(${first.text}) >= 0, ${value.text}, NULL)`,
    hidden: [...first.hidden, ...value.hidden],
  }
}

function givenValue(sql: Buffer, { start, end }: RowId): Piece {
  return { text: latin1(sql, start, end), hidden: [] }
}

/** Whether another value is evaluated behind the id's. */
function isFollowed({ columns, rows }: Insert): boolean {
  if (columns.form === 'none') return rows.some(({ followingAt }) => followingAt > 0)
  return columns.id !== undefined && columns.id.followingAt > 0
}

/** Whether the id is a column more than the statement names. */
function isAdded({ columns, rows }: Insert): boolean {
  return columns.form === 'set' ? rows[0]!.state === 'absent' : columns.form === 'list' && !columns.id
}

function columnEdits(sql: Buffer, { columns, column }: Insert, moved: boolean): Edit[] {
  switch (columns.form) {
    case 'set':
      return []
    case 'none':
      if (!columns.all) return [add(columns.listAt, `(${quoted(column.column)}) `)]
      return moved ? [add(columns.listAt, `(${listWithIdLast(columns.all, column.column)}) `)] : []
    case 'list': {
      const { id, addAt, isEmpty } = columns
      if (!id) return [add(addAt, `${isEmpty ? '' : ', '}${quoted(column.column)}`)]
      return moved ? [remove(id.start, id.followingAt), add(addAt, `, ${latin1(sql, id.start, id.end)}`)] : []
    }
  }
}

/** The list of columns that a statement has left out. */
function listEdits({ columns }: Insert): Edit[] {
  if (columns.form !== 'none' || !columns.all) return []
  return [add(columns.listAt, `(${columns.all.map(quoted).join(', ')}) `)]
}

/** Whether the columns that a statement leaves out can be written in a character set. */
export function canNameColumns({ columns }: Insert, charset: Charset): boolean {
  return charset.isUtf8 || columns.form !== 'none' || (columns.all?.every(isAscii) ?? true)
}

function listWithIdLast(all: readonly string[], id: string): string {
  return [...all.filter((name) => !sameColumn(name, id)), id].map(quoted).join(', ')
}

function rowEdits(insert: Insert, row: RowId, value: Piece, moved: boolean): Edit[] {
  const { columns } = insert
  const { start, end, addAt, isEmpty } = row
  if (row.state !== 'absent' && !moved) return [{ at: start, end, ...value }]
  const assigned = columns.form === 'set' ? `${quoted(insert.column.column)} = ` : ''
  const added = {
    at: addAt,
    end: addAt,
    text: `${isEmpty ? '' : ', '}${assigned}${value.text}`,
    hidden: value.hidden,
  }
  if (row.state === 'absent') return [added]
  if (columns.form !== 'set') return [remove(start, row.followingAt), added]
  assert(columns.id)
  return [remove(columns.id.start, columns.id.followingAt), added]
}

/**
 * `orders`.`id` = LAST_INSERT_ID(`orders`.`id`): MySQL's way to learn the id of the row that was there before. Behind the
 * other assignments where one of them gives the row another id, or its own, as `id = id` does.
 */
function ownId(
  sql: Buffer,
  { tableStart, tableEnd, column }: Insert,
  { at, endAt, assignsId }: OnDuplicate,
): Edit {
  const name = `${latin1(sql, tableStart, tableEnd)}.${quoted(column.column)}`
  const assignment = `${name} = LAST_INSERT_ID(${name})`
  return assignsId ? add(endAt, `, ${assignment}`) : add(at, ` ${assignment},`)
}

function add(at: number, text: string): Edit {
  return { at, end: at, text, hidden: [] }
}

function remove(at: number, end: number): Edit {
  return { at, end, text: '', hidden: [] }
}

/** A column's name in backquotes, as bytes of UTF-8. */
function quoted(name: string): string {
  return `\`${Buffer.from(name).toString('latin1').replaceAll('`', '``')}\``
}

/** The id as the statement has it. */
function literal(id: string | undefined, isText: boolean): string {
  assert(id !== undefined, 'each row that needs an id has one')
  if (isText) return /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/.test(id) ? `'${id}'` : inHex(id)
  assert(/^\d+$/.test(id), 'ids are decimal')
  return id
}

/** Means the same in every character set and SQL mode. */
function inHex(text: string): string {
  return `_utf8mb4 x'${Buffer.from(text).toString('hex')}'`
}

/** The edit with a space where its last word would run into the one behind it. */
function separated(sql: Buffer, edit: Edit): Edit {
  const behind = sql[edit.end]
  if (behind === undefined || behind < dollar || behind === rightParen || behind === comma) return edit
  const touches = /[\w?]$/.test(edit.text) && /[\w$\x80-\xff]/.test(String.fromCharCode(behind))
  return touches ? { ...edit, text: `${edit.text} ` } : edit
}
