/** The session of a connection: what lasts from one statement to the next, and the statements that act on it. */
import type { InProcessCaller } from '../operations/caller.ts'
import { Cursors } from './cursors.ts'
import { DrawnIds } from './drawn-ids.ts'
import { type PreparedLimits, PreparedStatements } from './prepared-statements.ts'
import type { Severity } from './replies.ts'
import { after, type Column, done, type Formats, type ParameterValue, type Result } from './result.ts'
import type { ResultWriter } from './result-writer.ts'
import { type ServerFacts, SessionSettings } from './session-settings.ts'
import { Transaction } from './transaction.ts'

/** A statement that is ready to run. One object serves all connections, and holds nothing of a session. */
export interface Statement {
  /** The oids of its parameters' types. */
  readonly parameters: readonly number[]
  /** Undefined: it gives no rows. */
  readonly columns: readonly Column[] | undefined
  /** What `columns` are in a session, of a statement that names another one or a cursor; undefined: that is not there. */
  columnsIn?(session: Session): readonly Column[] | undefined
  /** Whether it runs in a transaction that has failed: it ends the transaction, or goes back in it. */
  readonly runsAfterError?: boolean
  /** The generator, if the statement gives its next id and nothing else. */
  readonly next?: string
  /** About how much memory it takes, in bytes. Default: little. */
  readonly heldBytes?: number
  /**
   * Carries it out. Throws or rejects with the error that the client gets. @param formats those of the columns that are sent;
   * none: text.
   */
  run(session: Session, values: readonly ParameterValue[], formats?: Formats): Result | Promise<Result>
}

/** A statement that gives no rows. @param tag the words of its end, or what does all and gives them. */
export function command(
  tag: string | ((session: Session) => string),
  act: (session: Session) => void | Promise<void> = () => {},
  options: { readonly runsAfterError?: boolean } = {},
): Statement {
  return {
    parameters: [],
    columns: undefined,
    ...options,
    run(session) {
      if (typeof tag !== 'string') return done(tag(session))
      return after(act(session), () => done(tag))
    },
  }
}

/** A prepared statement. */
export type PreparedStatement = {
  /** Undefined: the text was empty. */
  readonly statement: Statement | undefined
  /** The types of its parameters: those that the client has given, or else those that the statement takes. */
  readonly types: readonly number[]
  /** The bytes of its message. */
  readonly bytes: number
  /** About how much memory it takes, in bytes. */
  readonly heldBytes: number
}

/** A statement with the values of its parameters, ready to run, or running. */
export type Portal = {
  readonly statement: Statement | undefined
  /** Where the statement comes from; it may have been closed or replaced since. */
  readonly prepared: PreparedStatement
  readonly values: readonly ParameterValue[]
  /** The columns of its result; undefined: it gives no rows. */
  readonly columns: readonly Column[] | undefined
  /** The formats of the columns of its result. */
  readonly formats: readonly number[]
  /** About how much memory the values take, in bytes. */
  readonly heldBytes: number
  /** Undefined before the first Execute. */
  writer: ResultWriter | undefined
}

/** A notice that waits to be sent. */
export type Notice = { readonly severity: Severity; readonly sqlState: string; readonly message: string }

/** Who the client says it is. */
export type Login = { readonly user: string; readonly database: string }

/** Notices of one statement; a script cannot make more of them wait. */
const noticesMax = 100

/** The session of one connection. */
export class Session {
  readonly caller: InProcessCaller
  readonly login: Login
  readonly settings: SessionSettings
  readonly transaction = new Transaction(this)
  readonly drawn = new DrawnIds()
  readonly prepared: PreparedStatements<PreparedStatement>
  readonly cursors = new Cursors()
  readonly portals = new Map<string, Portal>()
  readonly #notices: Notice[] = []
  /** `changes` of the settings when the client was told the newest values. */
  #toldChanges = -1
  /** The newest value of each reported parameter that the client has been told. */
  readonly #told = new Map<string, string>()

  constructor(
    caller: InProcessCaller,
    login: Login,
    server: Omit<ServerFacts, 'user'>,
    limits: PreparedLimits,
  ) {
    this.caller = caller
    this.login = login
    this.prepared = new PreparedStatements(limits)
    this.settings = new SessionSettings({ ...server, user: login.user })
  }

  /** Tells the client something beside the result of a statement. */
  notice(severity: Severity, sqlState: string, message: string): void {
    if (this.#notices.length < noticesMax) this.#notices.push({ severity, sqlState, message })
  }

  /** The notices that were not sent. */
  takeNotices(): readonly Notice[] {
    return this.#notices.length === 0 ? this.#notices : this.#notices.splice(0)
  }

  /** The reported parameters whose values the client does not know: at first all of them. */
  takeReports(): readonly (readonly [name: string, value: string])[] {
    const { changes } = this.settings
    if (changes === this.#toldChanges) return []
    this.#toldChanges = changes
    const reports = [...this.settings.reported()].filter(([name, value]) => this.#told.get(name) !== value)
    for (const [name, value] of reports) {
      this.#told.set(name, value)
      if (name === 'application_name') this.caller.session.name = nameInLists(value)
    }
    return reports
  }

  /** DISCARD ALL. */
  discard(): void {
    this.settings.resetAll()
    this.prepared.clear()
    this.portals.clear()
    this.cursors.clear()
    this.drawn.clear()
  }
}

/** The name of an application as lists of connections show it, which have spaces between their fields. */
function nameInLists(name: string): string {
  return name.slice(0, 64).replaceAll(/[^!-~]/g, '_')
}
