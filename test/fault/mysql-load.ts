/** Clients of MySQL that insert rows without an end, each row with a value of its own, and what they were told. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type Connection, createConnection, type ResultSetHeader } from 'mysql2/promise'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { CommandLine } from './mysql-command-line.ts'

/** A row of the table as it is in the end. */
export type Stored = { readonly id: string; readonly customer: string }

/** A failed statement, as its client words it. */
export type Failure = { readonly inserter: string; readonly code: string; readonly message: string }

/** The id that a client was told for a row. */
type Told = { readonly customer: string; readonly id: string }

/** A connection that inserts; customers are names that no other insert has. */
type Session = {
  /** Inserts the rows; resolves to what the client was told, of rows that stay and of rows that were rolled back. */
  insert(
    customers: readonly string[],
    round: number,
  ): Promise<{ stay: readonly Told[]; gone: readonly Told[] }>
  close(): void
}

/** How each inserter works; `rows` is how many customers it takes at a time. */
const ways: Readonly<Record<string, { rows: number; open(url: string): Promise<Session> }>> = {
  query: {
    rows: 1,
    open: (url) => session(url, single('query', 'INSERT INTO orders (customer) VALUES (?)')),
  },
  execute: {
    rows: 1,
    open: (url) => session(url, single('execute', 'INSERT INTO orders (customer) VALUES (?)')),
  },
  'execute with NULL': {
    rows: 1,
    open: (url) => session(url, single('execute', 'INSERT INTO orders (id, customer) VALUES (NULL, ?)')),
  },
  'rows at once': { rows: 3, open: (url) => session(url, several) },
  transaction: { rows: 2, open: (url) => session(url, transaction) },
  'command line': { rows: 1, open: commandLine },
}

/** Inserters of every way, until they are stopped. */
export class MySqlLoad {
  readonly failures: Failure[] = []
  readonly #url: string
  readonly #sent = new Set<string>()
  readonly #stay = new Map<string, string>()
  readonly #gone = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #running: Promise<void>[]
  #stopped = false
  #look: () => void = () => {}

  /** Starts them on the database of `url`, whose table `orders` has the columns `id` and `customer`. */
  constructor(lifetime: Lifetime, url: string) {
    this.#url = url
    this.#running = Object.keys(ways).map((way) => this.#run(way))
    atEnd(lifetime, () => this.stop())
  }

  /** How many rows the clients know to be stored. */
  get count(): number {
    return this.#stay.size
  }

  /** Resolves when each inserter has succeeded that often from now on. */
  async each(count: number): Promise<void> {
    const wanted = new Map(Object.keys(ways).map((way) => [way, (this.#counts.get(way) ?? 0) + count]))
    while ([...wanted].some(([way, enough]) => (this.#counts.get(way) ?? 0) < enough))
      await new Promise<void>((resolve) => {
        this.#look = resolve
      })
  }

  /** Ends all inserters. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  /** Holds the rows to the promises: no row without an id, none with the id of another one, none lost, none made up. */
  verify(stored: readonly Stored[]): void {
    const complaints: string[] = []
    const idOf = new Map(stored.map(({ id, customer }) => [customer, id]))
    const toldTo = new Map([...this.#stay, ...this.#gone].map(([customer, id]) => [id, customer]))
    assert.equal(toldTo.size, this.#stay.size + this.#gone.size, 'two rows were told the same id')
    for (const { id, customer } of stored) {
      if (BigInt(id) <= 0n) complaints.push(`${customer} has the id ${id}`)
      if (!this.#sent.has(customer)) complaints.push(`${customer} was never sent`)
      if (this.#gone.has(customer)) complaints.push(`${customer} was rolled back, and is there`)
      const owner = toldTo.get(id)
      if (owner !== undefined && owner !== customer)
        complaints.push(`${customer} has ${id}, the id of ${owner}`)
    }
    for (const [customer, id] of this.#stay) {
      const kept = idOf.get(customer)
      if (kept !== id) complaints.push(`${customer} was told ${id}, and has ${kept ?? 'no row'}`)
    }
    assert.deepEqual(complaints.slice(0, 5), [])
  }

  async #run(way: string): Promise<void> {
    const { rows, open } = ways[way]!
    let opened: Session | undefined
    for (let round = 0; !this.#stopped; round++) {
      const customers = Array.from({ length: rows }, (_, at) => `${way} ${round} ${at}`)
      try {
        opened ??= await open(this.#url)
        for (const customer of customers) this.#sent.add(customer)
        const { stay, gone } = await opened.insert(customers, round)
        for (const { customer, id } of stay) this.#stay.set(customer, id)
        for (const { customer, id } of gone) this.#gone.set(customer, id)
        this.#counts.set(way, (this.#counts.get(way) ?? 0) + 1)
        this.#look()
      } catch (error) {
        // mysql2 gives no code to the error of a connection that ended while it was idle.
        const { code = 'ended', message } = error as { code?: string; message: string }
        this.failures.push({ inserter: way, code, message })
        opened?.close()
        opened = undefined
      }
      // Slow enough that a client that cannot connect leaves the machine to the others.
      await pause(10)
    }
    opened?.close()
  }
}

type Insert = (
  connection: Connection,
  customers: readonly string[],
  round: number,
) => ReturnType<Session['insert']>

async function session(url: string, insert: Insert): Promise<Session> {
  const connection = await createConnection({ uri: url, connectTimeout: 10_000 })
  // Without a listener, the end of an idle connection would end the process.
  connection.on('error', () => {})
  return {
    insert: (customers, round) => insert(connection, customers, round),
    close: () => connection.destroy(),
  }
}

function single(method: 'query' | 'execute', sql: string): Insert {
  return async (connection, customers) => {
    const sent =
      method === 'query'
        ? connection.query<ResultSetHeader>(sql, [...customers])
        : connection.execute<ResultSetHeader>(sql, [...customers])
    const [{ insertId }] = await sent
    return { stay: [{ customer: customers[0]!, id: `${insertId}` }], gone: [] }
  }
}

/** The client is told the id of the first row alone. */
async function several(connection: Connection, customers: readonly string[]) {
  const sql = `INSERT INTO orders (customer) VALUES ${customers.map(() => '(?)').join(', ')}`
  const [{ insertId }] = await connection.query<ResultSetHeader>(sql, [...customers])
  return { stay: [{ customer: customers[0]!, id: `${insertId}` }], gone: [] }
}

/** Every other one is rolled back. */
async function transaction(connection: Connection, customers: readonly string[], round: number) {
  const told: Told[] = []
  await connection.beginTransaction()
  for (const customer of customers) {
    const sql = 'INSERT INTO orders (customer) VALUES (?)'
    const [{ insertId }] = await connection.execute<ResultSetHeader>(sql, [customer])
    told.push({ customer, id: `${insertId}` })
  }
  const rollsBack = round % 2 === 1
  await (rollsBack ? connection.rollback() : connection.commit())
  return rollsBack ? { stay: [], gone: told } : { stay: told, gone: [] }
}

async function commandLine(url: string): Promise<Session> {
  const program = new CommandLine(url)
  return {
    async insert([customer = '']) {
      const insert = `INSERT INTO orders (customer) VALUES ('${customer}')`
      const id = await program.ask(`${insert}; SELECT LAST_INSERT_ID()`)
      return { stay: [{ customer, id }], gone: [] }
    },
    close: () => program.close(),
  }
}
