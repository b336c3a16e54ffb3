/** What a connection gives for simple queries, as short texts. */
import assert from 'node:assert/strict'
import { fieldsOf, query, type RawPostgres } from './serve.ts'

/** What each statement gives: values of rows, tags, SQLSTATEs of errors and notices, and the state at the end. */
export async function answer(client: RawPostgres, text: string): Promise<string> {
  client.send(query(text))
  const parts: string[] = []
  for (const { type, body } of await client.until('Z')) {
    if (type === 'D') parts.push(valueIn(body))
    else if (type === 'C' && !body.toString().startsWith('SHOW'))
      parts.push(body.toString('utf8', 0, body.length - 1))
    else if (type === 'E' || type === 'N') parts.push(`${type}${fieldsOf(body).C}`)
    else if (type === 'S') parts.push(`${body.toString().split('\0').slice(0, 2).join('=')}`)
    else if (type === 'Z') parts.push(body.toString())
  }
  return parts.join(' ')
}

/** The first value of a row. */
function valueIn(body: Buffer): string {
  return body.toString('utf8', 6, 6 + body.readInt32BE(2))
}

/** Asks one after the other on one connection. */
export async function follows(
  client: RawPostgres,
  steps: readonly (readonly [text: string, expected: string])[],
) {
  for (const [text, expected] of steps) assert.equal(await answer(client, text), expected, text)
}
