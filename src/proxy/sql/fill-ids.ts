/**
 * Writes ids into INSERT and REPLACE statements.
 *
 * The first integer id of a statement is written as `LAST_INSERT_ID(id)`, by which the server itself sets both
 * LAST_INSERT_ID() and the insert id of its reply (`THD::arg_of_last_insert_id_function` in `sql/sql_insert.cc`).
 * A statement whose values read LAST_INSERT_ID() has to see the value from before the statement. There, the call that sets it
 * is the last thing that the last row evaluates: servers evaluate rows, and the values of a row, in the order in which they
 * are written.
 */
import assert from 'node:assert/strict'
import type { Parts } from '../../base/turns.ts'
import { sameColumn } from './cursor.ts'
import type { Columns, Insert, RowId } from './insert.ts'
import { isWordByte } from './verbs.ts'

/** Ids of one generator, in the order of the rows that need them. */
export type DrawnIds = {
  /** Decimal, or formatted texts. */
  readonly ids: readonly string[]
  readonly isText: boolean
}

/** Bytes that are replaced, or added where `at` and `end` are the same. */
type Edit = {
  readonly at: number
  readonly end: number
  /** One character for each byte. */
  readonly text: string
  /** The rows whose ids are the parameters in `text`, in order. */
  readonly holes: readonly number[]
}
type Piece = Pick<Edit, 'text' | 'holes'>

const noHoles: Edit['holes'] = []
const shortBytes = 64
/** How many edits are made until others are served: some 2 ms. */
const partEdits = 2048

/** The text with ids written into it, in parts; `drawn` has the ids of each of `inserts`, one for each of its rows. */
export function* fillText(
  sql: Buffer,
  inserts: readonly Insert[],
  drawn: readonly DrawnIds[],
): Parts<Buffer> {
  const edits: Edit[] = []
  let done = 0
  for (const [index, insert] of inserts.entries()) {
    const own = drawn[index]
    assert(own, 'each statement has its ids')
    const idOf = (row: number) => ({ text: literal(own.ids[row], own.isText), holes: noHoles })
    const addRow = beginEdits(edits, sql, insert, idOf, !own.isText)
    for (let row = 0; row < insert.rows.length; row++) {
      addRow(row)
      if (edits.length - done < partEdits) continue
      done = edits.length
      yield
    }
  }
  return edited(sql, edits)
}

/** A statement to prepare, and what its parameters are: the client's n, or -1 - r for the id of row r. */
export type PreparedFill = { readonly sql: Buffer; readonly parameters: readonly number[] }

/** The statement with a hidden parameter for each id that its text lacks. `parametersAt` are the client's parameters. */
export function fillPrepared(
  sql: Buffer,
  insert: Insert,
  parametersAt: readonly number[],
  isText: boolean,
): PreparedFill {
  const edits: Edit[] = []
  const idOf = (row: number) => ({ text: '?', holes: [row] })
  const addRow = beginEdits(edits, sql, insert, idOf, !isText)
  for (let row = 0; row < insert.rows.length; row++) addRow(row)
  const parameters: number[] = []
  let client = 0
  for (const { at, holes } of edits) {
    while (client < parametersAt.length && parametersAt[client]! < at) parameters.push(client++)
    for (const row of holes) parameters.push(-1 - row)
  }
  while (client < parametersAt.length) parameters.push(client++)
  return { sql: edited(sql, edits), parameters }
}

/** The text after the edits, which are in order and do not overlap. */
function edited(sql: Buffer, edits: readonly Edit[]): Buffer {
  let growth = 0
  for (const { at, end, text } of edits) growth += text.length - (end - at)
  const result = Buffer.allocUnsafe(sql.length + growth)
  let [from, to] = [0, 0]
  for (const { at, end, text } of edits) {
    // Where little is copied, a call into native code would cost more.
    if (at - from > shortBytes) to += sql.copy(result, to, from, at)
    else while (from < at) result[to++] = sql[from++]!
    for (let index = 0; index < text.length; index++) result[to++] = text.charCodeAt(index)
    from = end
  }
  sql.copy(result, to, from)
  return result
}

/** Adds the edits of a statement's columns to `edits`. Returns what adds those of a row, which is called for each in order. */
function beginEdits(
  edits: Edit[],
  sql: Buffer,
  insert: Insert,
  idOf: (row: number) => Piece,
  setsInsertId: boolean,
): (row: number) => void {
  const { rows, columns, onDuplicateEnd, decidesId } = insert
  const push = (edit: Edit) => edits.push(separated(sql, edit))
  const isBound = setsInsertId && rows.length > 0 && rows[0]!.parameter >= 0
  const isLate = setsInsertId && insert.readsLastInsertId
  const isMoved = isLate && isFollowed(columns, rows)
  columnEdits(sql, insert, isMoved).forEach(push)
  const last = rows.length - 1
  return (index) => {
    const row = rows[index]!
    if (isBound) boundEdits(row, index).forEach(push)
    else if (setsInsertId || row.parameter < 0)
      rowEdits(insert, row, setsInsertId ? writtenId(index) : idOf(index), isMoved).forEach(push)
    if (index === last && setsInsertId && onDuplicateEnd > 0 && !decidesId) push(ownId(insert))
  }

  function writtenId(index: number): Piece {
    const own = idOf(index)
    if (!isLate) return index === 0 ? call(own) : own
    if (index < last) return own
    return index === 0 ? call(own) : afterCall(idOf(0), own)
  }
}

function call({ text, holes }: Piece): Piece {
  return { text: `LAST_INSERT_ID(${text})`, holes }
}

/** A value that sets the insert id to another one when it is evaluated. No id is negative. */
function afterCall(first: Piece, value: Piece): Piece {
  return {
    text: `IF(LAST_INSERT_ID(${first.text}) >= 0, ${value.text}, NULL)`,
    holes: [...first.holes, ...value.holes],
  }
}

/**
 * Which row is the first to get an id is known when the statement is executed. So the id of each row is its first parameter,
 * or, if that is NULL, another one that sets the insert id.
 */
function boundEdits({ start, end }: RowId, row: number): Edit[] {
  return [
    { at: start, end: start, text: 'IFNULL(', holes: noHoles },
    { at: end, end, text: ', LAST_INSERT_ID(?))', holes: [row] },
  ]
}

/** Whether another value is evaluated behind the id's. */
function isFollowed(columns: Columns, rows: readonly RowId[]): boolean {
  if (columns.form === 'none') return rows.some(({ followingAt }) => followingAt > 0)
  return columns.id !== undefined && columns.id.followingAt > 0
}

function columnEdits(sql: Buffer, { columns, column }: Insert, isMoved: boolean): Edit[] {
  switch (columns.form) {
    case 'set':
      return []
    case 'none': {
      const others = columns.all.filter((name) => !sameColumn(name, column.column))
      const names = columns.all.length === 0 || isMoved ? [...others, column.column] : columns.all
      return [add(columns.listAt, `(${names.map(quoted).join(', ')}) `)]
    }
    case 'list': {
      const { id, addAt, isEmpty } = columns
      if (id === undefined) return [add(addAt, `${isEmpty ? '' : ', '}${quoted(column.column)}`)]
      if (!isMoved) return []
      return [remove(id.start, id.followingAt), add(addAt, `, ${sql.toString('latin1', id.start, id.end)}`)]
    }
  }
}

function rowEdits({ columns, column }: Insert, row: RowId, value: Piece, isMoved: boolean): Edit[] {
  const { start, end, addAt, isEmpty } = row
  const isAbsent = start === end
  if (!isAbsent && !isMoved) return [{ at: start, end, ...value }]
  const assigned = columns.form === 'set' ? `${quoted(column.column)} = ` : ''
  const added = {
    at: addAt,
    end: addAt,
    text: `${isEmpty ? '' : ', '}${assigned}${value.text}`,
    holes: value.holes,
  }
  if (isAbsent) return [added]
  if (columns.form !== 'set') return [remove(start, row.followingAt), added]
  assert(columns.id, 'an id that is assigned has its place')
  return [remove(columns.id.start, columns.id.followingAt), added]
}

/**
 * `orders`.`id` = LAST_INSERT_ID(`orders`.`id`): MySQL's way to learn the id of the row that was there before. Behind the
 * other assignments; one of them may give the row another id.
 */
function ownId({ table, column, onDuplicateEnd }: Insert): Edit {
  const name = `${table}.${quoted(column.column)}`
  return add(onDuplicateEnd, `, ${name} = LAST_INSERT_ID(${name})`)
}

function add(at: number, text: string): Edit {
  return { at, end: at, text, holes: noHoles }
}

function remove(at: number, end: number): Edit {
  return { at, end, text: '', holes: noHoles }
}

/** A column's name in backquotes, as bytes of UTF-8. */
function quoted(name: string): string {
  if (/^\w+$/.test(name)) return `\`${name}\``
  return `\`${Buffer.from(name).toString('latin1').replaceAll('`', '``')}\``
}

/** The id as the statement has it. */
function literal(id: string | undefined, isText: boolean): string {
  assert(id !== undefined, 'each row that needs an id has one')
  if (!isText) {
    assert(/^\d+$/.test(id), 'ids are decimal')
    return id
  }
  // Means the same in every character set and SQL mode.
  const isPlain = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/.test(id)
  return isPlain ? `'${id}'` : `_utf8mb4 x'${Buffer.from(id).toString('hex')}'`
}

/** The edit with a space where its last word would run into the one behind it. */
function separated(sql: Buffer, edit: Edit): Edit {
  const behind = sql[edit.end]
  if (behind === undefined || !isWordByte(behind) || !/[\w?]$/.test(edit.text)) return edit
  return { ...edit, text: `${edit.text} ` }
}
