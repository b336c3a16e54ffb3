/** A session beside the engine that keeps a row locked. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** Locks a counter's row in the database of `url`; resolves once it is locked, to the function that unlocks it. */
export function lockRow(lifetime: Lifetime, url: string, counter: string): Promise<() => Promise<void>> {
  return lock(lifetime, url, `fahao_counters WHERE name = '${counter}'`)
}

/** Locks the state row, as each write of records does. */
export function lockState(lifetime: Lifetime, url: string): Promise<() => Promise<void>> {
  return lock(lifetime, url, 'fahao_about')
}

async function lock(lifetime: Lifetime, url: string, rows: string): Promise<() => Promise<void>> {
  const session = await openSession(url)
  let isOpen = true
  const end = async () => {
    if (!isOpen) return
    isOpen = false
    await session.query('COMMIT')
    await session.end()
  }
  atEnd(lifetime, end)
  await session.query('START TRANSACTION')
  await session.query(`SELECT * FROM ${rows} FOR UPDATE`)
  return end
}

async function openSession(
  url: string,
): Promise<{ query(sql: string): Promise<unknown>; end(): Promise<void> }> {
  if (url.startsWith('mysql:')) return createConnection(url)
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}
