/**
 * Parse, Bind, Describe and Close: what the extended query protocol prepares before it executes.
 *
 * Invariants
 *  1. The numbers of prepared statements and portals are bounded, and the bytes of the statements' messages. What they
 *     take beyond that is known: `heldBytes`.
 *  2. A message that is refused changes nothing, except that Parse forgets the statement without a name.
 */
import { protocolViolation } from './errors.ts'
import { type Frames, MessageReader } from './frames.ts'
import { writeColumns, writeParameters } from './replies.ts'
import type { Column } from './result.ts'
import { columnsOf, demandRunnable, onlyStatement } from './script.ts'
import type { Portal, PreparedStatement, Session, Statement } from './session.ts'
import type { SessionHost } from './session-host.ts'
import { SqlError } from './sql-error.ts'
import { checkFormats, formatAt, parameterOf } from './wire-values.ts'

const allAsText: readonly number[] = []
/** About what is held for each byte of a name or a value, for each type of a parameter, and for each value. */
const heldPer = Object.freeze({ byte: 2, type: 8, value: 40 })

/** The prepared statements and portals of one connection. */
export class Preparation {
  readonly #session: Session
  readonly #host: SessionHost
  readonly #frames: Frames

  constructor(session: Session, host: SessionHost, frames: Frames) {
    this.#session = session
    this.#host = host
    this.#frames = frames
  }

  /** About how much memory the statements and portals take, in bytes. */
  get heldBytes(): number {
    const { prepared, portals, cursors } = this.#session
    let bytes = prepared.heldBytes + cursors.heldBytes
    if (portals.size === 0) return bytes
    // Portals keep their statements when these are closed or replaced; several may keep the same one.
    const closed = new Set<PreparedStatement>()
    for (const portal of portals.values()) {
      bytes += portal.heldBytes + (portal.writer?.heldBytes ?? 0)
      if (!prepared.holds(portal.prepared)) closed.add(portal.prepared)
    }
    for (const { heldBytes } of closed) bytes += heldBytes
    return bytes
  }

  /** Parse. A promise: call its result. */
  parse(): 'answered' | Promise<() => 'answered'> {
    const { prepared } = this.#session
    const reader = new MessageReader(this.#frames)
    const name = reader.text()
    const text = reader.latin1()
    const given = Array.from({ length: reader.int16() }, () => reader.oid())
    reader.finish()
    if (name === '') prepared.delete('')
    const bytes = this.#messageBytes
    const statement = onlyStatement(this.#host, text, this.#session, given)
    const finish = (compiled: Statement | undefined) => this.#prepare(name, compiled, given, bytes)
    if (statement instanceof Promise) return statement.then((compiled) => () => finish(compiled))
    return finish(statement)
  }

  #prepare(
    name: string,
    statement: Statement | undefined,
    given: readonly number[],
    bytes: number,
  ): 'answered' {
    if (statement) demandRunnable(this.#session, statement)
    const types = parameterTypes(statement, given)
    // Counted also if its text is cached: the cache may forget it.
    const heldBytes = name.length * heldPer.byte + types.length * heldPer.type + (statement?.heldBytes ?? 0)
    this.#session.prepared.add(name, { statement, types, bytes, heldBytes })
    this.#host.output.empty('1')
    return 'answered'
  }

  /** Bind. */
  bind(): 'answered' {
    const { portals } = this.#session
    const reader = new MessageReader(this.#frames)
    const portalName = reader.text()
    const prepared = this.#prepared(reader.text())
    const parameterFormats = readFormats(reader)
    const count = reader.int16()
    checkFormats(parameterFormats, count, 'parameter')
    if (count !== prepared.types.length)
      throw protocolViolation(
        `bind message supplies ${count} parameters, but the prepared statement requires ${prepared.types.length}`,
      )
    const values: (string | null)[] = []
    for (let index = 0; index < count; index++) {
      const length = reader.int32()
      if (length === -1) values.push(null)
      else
        values.push(
          parameterOf(reader.take(length), formatAt(parameterFormats, index), prepared.types[index]!),
        )
    }
    const formats = readFormats(reader)
    reader.finish()
    const { statement } = prepared
    const columns = columnsOf(this.#session, statement)
    checkFormats(formats, columns?.length ?? 0, 'result')
    if (statement) demandRunnable(this.#session, statement)
    if (portalName !== '') {
      if (portals.has(portalName))
        throw new SqlError('42P03', `cursor "${portalName.slice(0, 64)}" already exists`)
      if (portals.size >= this.#host.limits.portalsMax)
        throw new SqlError(
          '54000',
          `a connection has at most ${this.#host.limits.portalsMax} portals; close some`,
        )
    }
    const heldBytes = this.#messageBytes * heldPer.byte + count * heldPer.value
    portals.set(portalName, { statement, prepared, values, columns, formats, heldBytes, writer: undefined })
    this.#host.output.empty('2')
    return 'answered'
  }

  /** Describe. */
  describe(): 'answered' {
    const { output } = this.#host
    const reader = new MessageReader(this.#frames)
    const kind = String.fromCharCode(reader.int8())
    const name = reader.text()
    reader.finish()
    if (kind === 'S') {
      const { statement, types } = this.#prepared(name)
      const columns = columnsOf(this.#session, statement)
      if (columns) demandRunnable(this.#session, statement!)
      writeParameters(output, types)
      this.#writeColumns(columns, allAsText)
      return 'answered'
    }
    // A cursor of SQL is a portal too.
    const cursor = this.#session.portals.has(name) ? undefined : this.#session.cursors.find(name)
    if (kind === 'P' && cursor !== undefined) this.#writeColumns(cursor.columns, allAsText)
    else {
      const { columns, formats } = this.portal(kind, name)
      this.#writeColumns(columns, formats)
    }
    return 'answered'
  }

  #writeColumns(columns: readonly Column[] | undefined, formats: readonly number[]): void {
    const { output } = this.#host
    if (columns === undefined) output.empty('n')
    else writeColumns(output, columns, formats)
  }

  /** Close. */
  close(): 'answered' {
    const reader = new MessageReader(this.#frames)
    const kind = String.fromCharCode(reader.int8())
    const name = reader.text()
    reader.finish()
    if (kind === 'S') this.#session.prepared.delete(name)
    else if (kind === 'P') this.#session.portals.delete(name)
    else throw protocolViolation(`invalid CLOSE message subtype ${kind.charCodeAt(0)}`)
    this.#host.output.empty('3')
    return 'answered'
  }

  get #messageBytes(): number {
    return this.#frames.end - this.#frames.start
  }

  #prepared(name: string): PreparedStatement {
    const prepared = this.#session.prepared.get(name)
    if (prepared !== undefined) return prepared
    if (name === '') throw new SqlError('26000', 'unnamed prepared statement does not exist')
    throw new SqlError('26000', `prepared statement "${name.slice(0, 64)}" does not exist`)
  }

  /** The portal of this name. Errors: 34000. @param kind the letter P, as messages have it. */
  portal(kind: string, name: string): Portal {
    if (kind !== 'P') throw protocolViolation(`invalid DESCRIBE message subtype ${kind.charCodeAt(0)}`)
    const portal = this.#session.portals.get(name)
    if (portal === undefined) throw new SqlError('34000', `portal "${name.slice(0, 64)}" does not exist`)
    return portal
  }
}

/** The format codes of a Bind message. Most clients send none. */
function readFormats(reader: MessageReader): readonly number[] {
  const count = reader.int16()
  if (count === 0) return allAsText
  return Array.from({ length: count }, () => reader.int16())
}

function parameterTypes(statement: Statement | undefined, given: readonly number[]): readonly number[] {
  const own = statement?.parameters ?? []
  return Array.from({ length: Math.max(own.length, given.length) }, (_, index) => {
    const type = given[index] || own[index]
    if (type !== undefined && type !== 0) return type
    throw new SqlError('42P18', `could not determine data type of parameter $${index + 1}`)
  })
}
