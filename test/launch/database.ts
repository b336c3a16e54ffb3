/**
 * A database server of one's own, as MariaDB and PostgreSQL have it in common.
 *
 * Invariants
 *  1. A signal reaches the server and all its children, or none.
 *  2. Every life has the port and the data of the first.
 *  3. Nothing outlives the lifetime, even what was frozen when it ended.
 */
import { atEnd, type Lifetime } from './lifetime.ts'
import { type Exit, type RunningProcess, startProcess } from './process.ts'
import { freezeTree, killTree, thawTree } from './process-tree.ts'

/** Settings of the server, by their names in its configuration: they win over the chosen ones. */
export type Settings = Readonly<Record<string, string | number>>

/** A row of an answer. Integers of 64 bits are strings. */
export type Row = Readonly<Record<string, unknown>>

/** The password of every user that a launcher makes. */
export const password = 'secret'
/** The user that owns the databases, and may do nothing else. */
export const owner = 'fahao'
/** The user who may do everything. */
export const superuser = 'admin'

let databases = 0

/** A server under test; the same one through all its restarts. */
export abstract class DatabaseServer {
  /** The scheme of its engine. */
  abstract readonly kind: 'mysql' | 'postgres'
  readonly port: number
  protected readonly lifetime: Lifetime
  /** The signal that asks the server to end in good order without waiting for its clients. */
  protected abstract readonly stopSignal: NodeJS.Signals
  #settings: Settings
  #running: RunningProcess | undefined

  protected constructor(lifetime: Lifetime, port: number, settings: Settings) {
    this.lifetime = lifetime
    this.port = port
    this.#settings = settings
  }

  /** The URL of a database on it. `user` is its owner unless given: `admin`, or one that the test has made. */
  abstract url(database: string, user?: string): string

  /**
   * Runs statements as the superuser, on a connection of their own; resolves to the rows of the last one.
   * `database` is the server's own unless given. Works while the server is read-only.
   */
  abstract admin(sql: string, database?: string): Promise<readonly Row[]>

  /** Refuses writes of the owner from now on, or takes them again. A restart changes nothing about it. */
  abstract setReadOnly(on: boolean): Promise<void>

  /** What it takes to have the database as it is now, as text. */
  abstract dump(database: string): Promise<string>

  /** Sets the tables of a dump back to what they were, in the running server, under open connections. */
  abstract restore(database: string, dump: string): Promise<void>

  /** Of a replica: resolves when it has everything that its primary has written so far. */
  abstract catchUp(): Promise<void>

  /** Of a replica: takes nothing more from its primary. What is written there from now on, it lacks. */
  abstract stopReplicating(): Promise<void>

  /** Of a replica: makes it a primary that takes writes, with what it has, whatever became of the old one. */
  abstract promote(): Promise<void>

  protected abstract createDatabase(name: string): Promise<void>

  protected abstract command(settings: Settings): { command: string; args: readonly string[]; cwd: string }

  /** The process of this life. */
  get process(): RunningProcess {
    if (!this.#running) throw new Error('the server was never started')
    return this.#running
  }

  /** Creates an empty database for one test, and resolves to its URL for the owner. */
  async newDatabase(): Promise<string> {
    const name = `fahao_${++databases}`
    await this.createDatabase(name)
    return this.url(name)
  }

  /** Stops the server where it stands: connections stay open, and nothing answers. Resolves when it stands. */
  freeze(): Promise<void> {
    return freezeTree(this.process.pid)
  }

  /** Lets it run on after `freeze`. */
  thaw(): void {
    thawTree(this.process.pid)
  }

  /** Ends it at once, as a crash does, frozen or not. */
  async kill(): Promise<void> {
    await killTree(this.process.pid)
    await this.process.exited
  }

  /** Ends it in good order, frozen or not; its clients are thrown out. */
  stop(): Promise<Exit> {
    this.thaw()
    return this.process.kill(this.stopSignal)
  }

  /**
   * Starts it again on the same data and port, and stops it first if it still runs. Settings that are given
   * are added to those of before. Resolves when it answers.
   */
  async restart(settings: Settings = {}): Promise<void> {
    if (!this.process.exit()) await this.stop()
    this.#settings = { ...this.#settings, ...settings }
    await this.start()
  }

  /** Starts a life; the launchers and `restart` call this. */
  async start(): Promise<void> {
    this.#running = await startProcess(this.lifetime, {
      ...this.command(this.#settings),
      readyWithinMs: 60_000,
      readyWhen: { probe: () => this.#answers() },
    })
    atEnd(this.lifetime, () => this.end())
  }

  /** What the end of the lifetime does, before the process group is killed. */
  protected async end(): Promise<void> {
    if (!this.process.exit()) await this.kill()
  }

  async #answers(): Promise<boolean> {
    try {
      await this.admin('SELECT 1')
      return true
    } catch {
      return false
    }
  }
}
