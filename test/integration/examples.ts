/** The generators of `examples/fahao.yaml`, made by commands, and what their ids must be like. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { FahaoServer } from '../launch/fahao.ts'
import type { RawReply } from '../launch/raw-reply.ts'

const file = join(import.meta.dirname, '..', '..', 'examples', 'fahao.yaml')
const { generators } = parse(readFileSync(file, 'utf8')) as {
  generators: Record<string, Record<string, string | number>>
}

/** One ID.CREATE for each example, its own word included. All four kinds are among them. */
export const creations: readonly string[][] = Object.entries(generators).map(([name, options]) => [
  'ID.CREATE',
  name,
  ...Object.entries(options).flatMap(([option, value]) => [option.toUpperCase(), String(value)]),
])

/** Names of the examples whose ids fit a JavaScript number, and of those whose ids do not. */
export const narrow: readonly string[] = namesOf('sequence', 'segment')
export const wide: readonly string[] = namesOf('timestamp', 'snowflake')

/** Names whose ids a later request on this node gets larger: all but the shuffled. */
export const ordered: readonly string[] = Object.keys(generators).filter(
  (name) => generators[name]!.within !== 'shuffled',
)

/** Ids of a generator that this node has issued, as ID.INFO reports it to another client. */
export async function issuedOf(server: FahaoServer, name: string): Promise<bigint> {
  const info = await infoOf(server, name)
  return (info.get('issued') as bigint | undefined) ?? 0n
}

/** What ID.INFO says. */
export async function infoOf(server: FahaoServer, name: string): Promise<ReadonlyMap<RawReply, RawReply>> {
  const client = await server.connect()
  await client.command('HELLO', '3')
  const info = await client.command('ID.INFO', name)
  await client.close()
  assert.ok(info instanceof Map, String(info))
  return info
}

/** Each id is larger than the one before it. */
export function assertIncreasing(ids: readonly (bigint | number | string)[]): void {
  for (let at = 1; at < ids.length; at++) {
    assert.ok(BigInt(ids[at]!) > BigInt(ids[at - 1]!), `${ids[at]} came after ${ids[at - 1]}`)
  }
}

/** No id came twice, as a caller in JavaScript compares them. */
export function assertDistinct(ids: readonly (bigint | number | string)[]): void {
  assert.equal(new Set(ids.map(String)).size, ids.length)
}

/** The ids are first, first + 1, … without a gap, in whatever order. */
export function assertGapless(ids: readonly (bigint | number | string)[], first: bigint): void {
  const sorted = ids.map(BigInt).sort((a, b) => (a < b ? -1 : 1))
  assert.equal(sorted[0], first)
  assert.equal(sorted.at(-1), first + BigInt(ids.length) - 1n)
  assertDistinct(ids)
}

function namesOf(...kinds: string[]): string[] {
  return Object.keys(generators).filter((name) => kinds.includes(String(generators[name]!.kind)))
}
