/**
 * The messages of one connection after its login: finds out what each asks for, has it carried out, writes the replies.
 * https://www.postgresql.org/docs/15/protocol-flow.html
 *
 * Invariants
 *  1. Messages are carried out in their order. While one waits, none after it starts.
 *  2. After an error, messages of the extended protocol are skipped up to Sync. Each Sync and each simple query gets one
 *     ReadyForQuery.
 *  3. A message that fails half way leaves no byte behind; rows that were sent before an error stay.
 *  4. What a result has not sent follows in later calls of `advance`, and no other message starts before its end.
 */
import { systemClock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { restsAfter } from '../listening/turns.ts'
import { takeOne } from './drawing.ts'
import { FatalError, notSupported, protocolViolation } from './errors.ts'
import { type Frames, MessageReader } from './frames.ts'
import { workOf } from './long-statements.ts'
import { Preparation } from './preparation.ts'
import { writeColumns, writeComplete, writeError, writeNotice, writeReady, writeSetting } from './replies.ts'
import type { Result } from './result.ts'
import { ResultWriter } from './result-writer.ts'
import { columnsOf, demandRunnable, scriptOf } from './script.ts'
import type { Portal, Session, Statement } from './session.ts'
import type { SessionHost } from './session-host.ts'
import { SqlError } from './sql-error.ts'
import type { Script } from './statement-cache.ts'
import { formatAt } from './wire-values.ts'

/**
 * `answered`: there may be more. `more`: nothing before more bytes arrive. `tls`: the socket has to speak TLS first. `end`:
 * the connection ends. A promise: call its result, which writes the replies, before the next call of `advance`.
 */
export type Progress = 'answered' | 'more' | 'tls' | 'end' | Promise<() => Progress>

/** Work that is no reply, as the bytes of a reply that take about as long. */
const workBytes = Object.freeze({ message: 32, error: 256, awaited: 256 })
const allAsText: readonly number[] = []

/** The messages of one session. */
export class SessionMessages {
  /** Whether a quota has refused a statement since `takeRefused`. */
  isRefused = false
  readonly #session: Session
  readonly #host: SessionHost
  readonly #frames: Frames
  /** A simple query: its statements, and which one is next. */
  #script: Script | undefined
  #at = 0
  /** About how much memory the statements of `#script` take, in bytes, once known. */
  #scriptBytes: number | undefined
  /** A result that is being sent. */
  #writer: ResultWriter | undefined
  #isSkipping = false
  readonly #preparation: Preparation

  constructor(session: Session, host: SessionHost, frames: Frames) {
    this.#session = session
    this.#host = host
    this.#frames = frames
    this.#preparation = new Preparation(session, host, frames)
  }

  /** Whether a result is being sent; `advance` sends its next part. */
  get isReplying(): boolean {
    return this.#writer !== undefined
  }

  /** About how much memory its statements, portals, settings, savepoints and results take, in bytes. */
  get heldBytes(): number {
    const { settings, transaction } = this.#session
    const heldBytes = this.#preparation.heldBytes + settings.heldBytes + transaction.heldBytes
    if (this.#script === undefined) return heldBytes
    this.#scriptBytes ??= this.#script.reduce((sum, source) => sum + source.heldBytes, 0)
    return heldBytes + this.#scriptBytes + (this.#writer?.heldBytes ?? 0)
  }

  /** Whether a quota has refused a statement since this was asked last. */
  takeRefused(): boolean {
    const isRefused = this.isRefused
    this.isRefused = false
    return isRefused
  }

  /** Goes on with the current result or query, or with the next message. Throws what ends the connection. */
  advance(): Progress {
    if (this.#writer !== undefined || this.#script !== undefined) return this.#attempt(() => this.#goOn())
    if (!this.#frames.next()) return 'more'
    this.#host.turns.spend(workBytes.message)
    return this.#attempt(() => this.#carryOut(String.fromCharCode(this.#frames.type)))
  }

  #goOn(): Progress {
    return this.#writer !== undefined ? this.#write(this.#writer) : this.#runNext(this.#script!)
  }

  /** Tells the client the error of a message, at once or once it has settled. */
  #attempt(work: () => Progress): Progress {
    try {
      const progress = work()
      if (!(progress instanceof Promise)) return progress
      return progress.then(
        (write) => () => this.#attempt(write),
        (error) => () => this.#refuse(error),
      )
    } catch (error) {
      return this.#refuse(error)
    }
  }

  /** https://www.postgresql.org/docs/15/protocol-message-formats.html */
  #carryOut(type: string): Progress {
    if (this.#isSkipping && type !== 'S' && type !== 'X') return 'answered'
    switch (type) {
      case 'Q':
        return this.#query()
      case 'P':
        return this.#preparation.parse()
      case 'B':
        return this.#preparation.bind()
      case 'D':
        return this.#preparation.describe()
      case 'E':
        return this.#execute()
      case 'C':
        return this.#preparation.close()
      case 'S':
        this.#isSkipping = false
        return this.#ready()
      case 'X':
        return 'end'
      case 'F':
        // A simple query gets its ReadyForQuery without a Sync.
        return this.#refuseQuery(
          notSupported('function calls are not supported', 'Call the function in a SELECT.'),
        )
      // Flush, CopyData, CopyDone, CopyFail.
      case 'H':
      case 'd':
      case 'c':
      case 'f':
        return 'answered'
      default:
        throw new FatalError(protocolViolation(`invalid frontend message type ${type.charCodeAt(0)}`))
    }
  }

  #query(): Progress {
    this.#session.caller.session.lastCommand = 'query'
    let script: Script | Promise<Script>
    try {
      const reader = new MessageReader(this.#frames)
      const bytes = reader.latin1()
      reader.finish()
      script = scriptOf(this.#host, bytes, this.#session)
    } catch (error) {
      return this.#refuseQuery(error)
    }
    if (!(script instanceof Promise)) return this.#begin(script)
    return script.then(
      (read) => () => this.#begin(read),
      (error) => () => this.#refuseQuery(error),
    )
  }

  /** A simple query that is not begun is no part of what is skipped after its error. */
  #refuseQuery(error: unknown): 'answered' {
    this.#host.totals.commands++
    this.#refuse(error)
    this.#isSkipping = false
    return this.#ready()
  }

  #begin(script: Script): Progress {
    const { prepared, portals } = this.#session
    prepared.delete('')
    portals.delete('')
    if (script.length === 0) {
      this.#host.output.empty('I')
      return this.#ready()
    }
    this.#script = script
    this.#at = 0
    this.#scriptBytes = undefined
    return 'answered'
  }

  /** Runs the next statement of a simple query, or ends the query. */
  #runNext(script: Script): Progress {
    const source = script[this.#at]
    if (source === undefined) {
      this.#script = undefined
      return this.#ready()
    }
    const statement = source.compile(this.#session)
    // Once it is compiled, its source keeps it.
    if (statement instanceof Promise) return statement.then(() => () => 'answered')
    this.#at++
    demandRunnable(this.#session, statement)
    if (this.#drawOne(statement, 0, true))
      return this.#at >= script.length ? this.#runNext(script) : 'answered'
    return this.#run(statement, [], allAsText, (result) => {
      const columns = columnsOf(this.#session, statement)
      if (columns) writeColumns(this.#host.output, columns)
      this.#send(new ResultWriter(result))
    })
  }

  #run(
    statement: Statement,
    values: Portal['values'],
    formats: readonly number[],
    onResult: (result: Result) => void,
  ): Progress {
    this.#host.totals.commands++
    const { turns } = this.#host
    const startUs = systemClock.monoUs()
    const result = statement.run(this.#session, values, formats)
    if (result instanceof Promise) {
      // Queries that take long count what they take by themselves.
      turns.spend(workBytes.awaited)
      return result.then((settled) => () => {
        onResult(settled)
        return 'answered'
      })
    }
    turns.spend(workOf(systemClock.monoUs() - startUs))
    onResult(result)
    return 'answered'
  }

  #execute(): Progress {
    const reader = new MessageReader(this.#frames)
    const portal = this.#preparation.portal('P', reader.text())
    const limit = reader.int32()
    reader.finish()
    const { statement, writer } = portal
    if (statement === undefined) {
      this.#host.output.empty('I')
      return 'answered'
    }
    const rowsMax = limit > 0 ? limit : Number.POSITIVE_INFINITY
    demandRunnable(this.#session, statement)
    if (writer !== undefined) {
      if (portal.columns === undefined)
        throw new SqlError('55000', 'the portal cannot be run anymore; bind another one')
      writer.goOn(rowsMax)
      this.#send(writer)
      return 'answered'
    }
    if (this.#drawOne(statement, formatAt(portal.formats, 0), false)) {
      portal.writer = ResultWriter.over
      return 'answered'
    }
    if (columnsOf(this.#session, statement) !== portal.columns)
      throw new SqlError('0A000', 'cached plan must not change result type')
    return this.#run(statement, portal.values, portal.formats, (result) => {
      // A portal runs once, also where its rows cannot be kept.
      portal.writer = ResultWriter.over
      if (rowsMax < result.count) this.#demandRoom(result.count)
      portal.writer = new ResultWriter(result, rowsMax)
      this.#send(portal.writer)
    })
  }

  /** Throws 54000 if the portals would hold too many rows that were not sent. @param rows those of another one. */
  #demandRoom(rows: number): void {
    const { rowsHeldMax } = this.#host.limits
    let held = rows
    for (const { writer } of this.#session.portals.values()) held += writer?.rowsHeld ?? 0
    if (held > rowsHeldMax)
      throw new SqlError(
        '54000',
        `the portals of a connection hold at most ${rowsHeldMax} rows; fetch or close the earlier ones`,
      )
  }

  /** Carries out a statement that gives the next id of a generator in use. Whether it is one. @param isTold columns come first */
  #drawOne({ next, columns = [] }: Statement, format: number, isTold: boolean): boolean {
    const run = next === undefined ? undefined : takeOne(this.#session, next)
    if (run === undefined) return false
    const { output, totals } = this.#host
    totals.commands++
    if (isTold) writeColumns(output, columns)
    if (format === 0) output.idRow(run)
    else output.binaryIdRow(run)
    writeComplete(output, 'SELECT 1')
    return true
  }

  /** Sends a result: what fits into one call. */
  #send(writer: ResultWriter): void {
    this.#writeNotices()
    this.#writer = writer
    this.#write(writer)
  }

  #write(writer: ResultWriter): 'answered' {
    if (writer.writeSome(this.#host.output)) this.#writer = undefined
    return 'answered'
  }

  #writeNotices(): void {
    for (const { severity, sqlState, message } of this.#session.takeNotices())
      writeNotice(this.#host.output, severity, sqlState, message)
  }

  #ready(): 'answered' {
    const { output } = this.#host
    const { transaction, portals } = this.#session
    // Portals end with their transaction; outside of a block that is here.
    if (transaction.status === 'I') portals.clear()
    for (const [name, value] of this.#session.takeReports()) writeSetting(output, name, value)
    writeReady(output, transaction.status)
    return 'answered'
  }

  /** Tells the client the error of what it has asked for. */
  #refuse(error: unknown): 'answered' {
    if (error instanceof FatalError) throw error
    const { output, turns, figures } = this.#host
    output.abandon()
    figures.failed(error instanceof FahaoError ? error.code : 'ERR')
    turns.spend(workBytes.error)
    this.#writer = undefined
    this.#writeNotices()
    this.isRefused ||= restsAfter(error)
    if (error instanceof FahaoError) {
      const { access } = this.#session.caller.session
      writeError(
        output,
        error.forReader((pattern) => access.reaches(pattern)),
      )
    } else {
      this.#host.onError(error, this.#session.caller.session)
      writeError(output, new SqlError('XX000', 'internal error; the log of the server has it'))
    }
    this.#session.transaction.fail()
    if (this.#script === undefined) this.#isSkipping = true
    else {
      this.#script = undefined
      this.#ready()
    }
    return 'answered'
  }
}
