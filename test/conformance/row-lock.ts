/** A session beside the engine that keeps the row of a counter locked. */
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** Locks the row in the database of `url`; resolves once it is locked, to the function that unlocks it. */
export async function lockRow(
  lifetime: Lifetime,
  url: string,
  counter: string,
): Promise<() => Promise<void>> {
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
  await session.query(`SELECT * FROM fahao_counters WHERE name = '${counter}' FOR UPDATE`)
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
