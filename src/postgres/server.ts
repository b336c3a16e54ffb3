/** Serves PostgreSQL's protocol on a port: accepts connections, and sets TLS up for those that ask for it. */
import { createServer, type Server, type Socket } from 'node:net'
import { unauthenticated } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import type { Certificates } from '../listening/certificates.ts'
import { certificateName } from '../listening/handshakes.ts'
import {
  endsOf,
  type ListenerOptions,
  type ListenerStats,
  listen,
  socketOptions,
  UserListener,
} from '../listening/listener.ts'
import { Upgrades } from '../listening/upgrades.ts'
import type { OperatingNode } from '../operations/caller.ts'
import { CancelKeys } from './cancel-keys.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { defaultLimits, type PostgresLimits } from './limits.ts'
import { Output } from './output.ts'
import { loadParser } from './parser.ts'
import { type QueryLimits, QueryQueue } from './query-queue.ts'
import { writeError } from './replies.ts'
import { SqlError } from './sql-error.ts'
import { StatementCache } from './statement-cache.ts'

/** How to serve. */
export type PostgresServerOptions = ListenerOptions & {
  readonly node: OperatingNode
  readonly access: AccessControl
  /** Fahao's version. */
  readonly version: string
  readonly limits?: Partial<PostgresLimits>
  /** What queries of system catalogs may use. */
  readonly queryLimits?: Partial<QueryLimits>
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** The id of a new connection, unique in the process. */
  readonly nextId: () => number
}

/** Figures of a server, since it started, and its open connections. */
export type PostgresStats = ListenerStats

/** What clients of PostgreSQL offer in the handshake. https://www.postgresql.org/docs/17/protocol-flow.html */
const alpn = 'postgresql'

/** Listens. Rejects with CONFIG when it cannot. */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  await loadParser()
  const server = createServer(socketOptions)
  const refusal = (address: string, reason: string) =>
    `the PostgreSQL protocol cannot be served on ${address}: ${reason}; choose another address with --postgres`
  await listen(server, options, refusal)
  return new PostgresServer(server, options)
}

/** A server that listens. */
export class PostgresServer extends UserListener<Connection> {
  /** Undefined without TLS. */
  readonly #upgrades: Upgrades<Connection> | undefined
  readonly #host: ConnectionHost
  readonly #nextId: () => number
  readonly #queries: QueryQueue

  constructor(server: Server, options: PostgresServerOptions) {
    const limits = { ...defaultLimits, ...options.limits }
    super(server, options, limits)
    const { node, access, version, nextId, queryLimits, tls } = options
    this.#nextId = nextId
    this.#queries = new QueryQueue(queryLimits)
    const upgrades =
      tls &&
      new Upgrades<Connection>(tls, { ALPNProtocols: [alpn] }, (connection, socket) =>
        connection.secure(socket, certificateName(socket)),
      )
    this.#upgrades = upgrades
    this.#host = {
      ...this.shared,
      limits,
      node,
      access,
      version,
      unauthenticated,
      cancelKeys: new CancelKeys(),
      cache: new StatementCache(),
      queries: this.#queries,
      output: new Output(),
      hasTls: upgrades !== undefined,
      upgrade: (connection, socket) => upgrades?.begin(connection, socket),
    }
    server.on('connection', (socket) => this.admit(socket, (host) => this.#accept(socket, host)))
  }

  override async close(deadlineMs: number): Promise<void> {
    await super.close(deadlineMs)
    this.#queries.close()
    this.#upgrades?.close()
  }

  protected override dropHandshakes(): void {
    this.#upgrades?.drop()
  }

  protected override get refusal(): Buffer | string {
    const output = new Output()
    writeError(output, new SqlError('53300', 'sorry, too many clients already'), 'FATAL')
    return output.take()
  }

  #accept(socket: Socket, host: string): void {
    const ends = endsOf(socket)
    if (ends === undefined) return void socket.destroy()
    const facts = { id: this.#nextId(), ...ends }
    this.admission.add(new Connection(socket, facts, this.#host), host, true)
  }
}
