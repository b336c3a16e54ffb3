/**
 * Whether a store's file is undamaged. A damaged counter that read as absent would begin at 0.
 *
 * Invariants
 *  1. A small file is checked as a whole when it is opened. Of a large one, every table is read in the order of its keys, in
 *     parts, after it has been opened: the time of an opening does not grow with the file.
 *  2. Until such a part has been read, a key counts as absent only if the rows around its place are in order, more than any
 *     page has. A page that is not the one that belongs there is found by the order, one that is no page by SQLite.
 *  3. A row is taken for a key only if it has that key: SQLite takes the first row of a page for the one before, where
 *     pages are not in order.
 *  4. A part, or a list, that ends within a page out of place would continue behind it, where the page belongs. So the last rows
 *     are compared with those that a search for the last of them finds before it.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { compareBytes } from '../../base/byte-order.ts'
import { FahaoError } from '../../base/errors.ts'
import { pragma } from './schema.ts'

/** A larger file takes more than a fifth of a second to check as a whole. */
const wholeBytesMax = 67_108_864n
const partRows = 4000
/** More than a page of 4 KiB can hold of rows whose keys have the length of a generator's. */
const aroundRows = 400

/** A table whose rows are looked up by key. */
export type CheckedTable = 'counters' | 'records'

/** Is told the key of the row that was found for a key; undefined: none. Throws ENGINE, or what SQLite throws, if that is damage. */
export type ConfirmRow = (key: string, found: string | undefined) => void

/** Is told the keys of the rows that were found at and behind a key. */
export type ConfirmRows = (from: string, keys: readonly string[]) => void

/** For lookups in a table. */
export type Confirm = { readonly row: ConfirmRow; readonly rows: ConfirmRows }

type Key = string | number
type Order = {
  readonly before: StatementSync
  readonly from: StatementSync
  readonly part: StatementSync
}

/** The check of one connection's file. */
export class StoreCheck {
  readonly #file: string
  readonly #orders: ReadonlyMap<string, Order>
  /** Orders with rows that were not read yet, and the last key that was. */
  readonly #left: Map<string, Key>

  private constructor(database: DatabaseSync, file: string, isWhole: boolean) {
    this.#file = file
    this.#orders = new Map([
      ['counters', orderOf(database, 'name', 'counters')],
      ['records', orderOf(database, 'key', 'records')],
      ['versions', orderOf(database, 'version', 'records INDEXED BY records_by_version')],
    ])
    const begins: [string, Key][] = [
      ['counters', ''],
      ['records', ''],
      ['versions', 0],
    ]
    this.#left = new Map(isWhole ? [] : begins)
  }

  /** Checks a small file. Throws ENGINE, with the remedy, if it is damaged. */
  static open(database: DatabaseSync, file: string): StoreCheck {
    const isWhole = pragma(database, 'page_count') * pragma(database, 'page_size') <= wholeBytesMax
    if (isWhole) checkWhole(database, file)
    return new StoreCheck(database, file, isWhole)
  }

  /** Whether the whole file has been checked. */
  get isDone(): boolean {
    return this.#left.size === 0
  }

  /** Checks the next part. Throws ENGINE, or what SQLite throws, if it is damaged. */
  next(): void {
    const [part] = this.#left
    if (part === undefined) return
    const [name, read] = part
    const order = this.#orders.get(name)!
    const keys = keysOf(order.part, read)
    this.#inOrder([read, ...keys])
    if (keys.length < partRows) this.#left.delete(name)
    else {
      this.#isReached(order, keys)
      this.#left.set(name, keys.at(-1)!)
    }
  }

  /** Checks what is left. */
  finish(): void {
    while (!this.isDone) this.next()
  }

  /** For lookups in a table. */
  confirm(table: CheckedTable): Confirm {
    const order = this.#orders.get(table)!
    const isRead = (key: Key) => {
      const read = this.#left.get(table)
      return read === undefined || compare(key, read) < 0
    }
    return {
      row: (key, found) => {
        if (found !== undefined && found !== key)
          throw damaged(this.#file, `${found} is in the place of ${key}`)
        if (found === undefined && !isRead(key)) this.#around(order, key)
      },
      rows: (from, keys) => {
        const last = keys.at(-1) ?? from
        if (isRead(last)) return
        this.#inOrder(keys)
        this.#around(order, from)
        this.#around(order, last)
        this.#isReached(order, keys)
      },
    }
  }

  #around(order: Order, key: Key): void {
    this.#inOrder([...keysOf(order.before, key).reverse(), ...keysOf(order.from, key)])
  }

  /** Throws ENGINE unless the keys ascend. */
  #inOrder(keys: readonly Key[]): void {
    for (let index = 1; index < keys.length; index++) {
      const [one, next] = [keys[index - 1]!, keys[index]!]
      // The order of strings is that of their bytes but for a few characters, and faster.
      if (next <= one && compare(next, one) <= 0) throw damaged(this.#file, `${next} comes after ${one}`)
    }
  }

  /** Throws ENGINE unless a search for the last key finds the other ones before it. */
  #isReached(order: Order, keys: readonly Key[]): void {
    const last = keys.at(-1)
    if (last === undefined) return
    for (const [index, key] of keysOf(order.before, last).entries()) {
      const seen = keys.at(-2 - index)
      if (seen === undefined) return
      if (seen !== key) throw damaged(this.#file, `${key} and ${seen} are before ${last}`)
    }
  }
}

/** Throws ENGINE, with the remedy, unless SQLite finds the whole file in order. Takes seconds for each gigabyte. */
export function checkWhole(database: DatabaseSync, file: string): void {
  const found = Object.values(database.prepare('PRAGMA quick_check(1)').get()!)[0]
  if (found !== 'ok') throw damaged(file, String(found).replace(/\s+/g, ' '))
}

function damaged(file: string, what: string): FahaoError {
  return new FahaoError('ENGINE', `${file} is damaged (${what}); restore a backup with 'fahao restore'`)
}

function orderOf(database: DatabaseSync, column: string, table: string): Order {
  const select = (rest: string) => {
    const statement = database.prepare(`SELECT ${column} FROM ${table} WHERE ${column} ${rest}`)
    statement.setReturnArrays(true)
    return statement
  }
  return {
    before: select(`< ? ORDER BY 1 DESC LIMIT ${aroundRows}`),
    from: select(`>= ? ORDER BY 1 LIMIT ${aroundRows}`),
    part: select(`> ? ORDER BY 1 LIMIT ${partRows}`),
  }
}

function keysOf(statement: StatementSync, key: Key): Key[] {
  return (statement.all(key) as unknown as [Key][]).map(([found]) => found)
}

function compare(one: Key, other: Key): number {
  return typeof one === 'number' ? one - Number(other) : compareBytes(one, String(other))
}
