/** The generators of `exercise`, and what it must have seen and left behind in any runtime. */
import assert from 'node:assert/strict'
import { connect } from '../../client/src/index.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import type { RawClient } from '../launch/raw-client.ts'
import type { Observed } from './exercise.ts'

const definitions: Readonly<Record<string, readonly string[]>> = {
  order: ['sequence'],
  time: ['timestamp'],
  user: ['segment', 'FORMAT', 'u{id:8}'],
  event: ['snowflake', 'FORMAT', 'e{id::base62}'],
  coupon: ['segment', 'SCRAMBLE', 'on', 'MAX', '999999'],
  big: ['segment', 'START', String(2n ** 53n)],
}

/** Creates the generators whose names begin with `prefix`. */
export async function createGenerators(admin: RawClient, prefix: string): Promise<void> {
  for (const [name, options] of Object.entries(definitions))
    assert.equal(await admin.command('ID.CREATE', `${prefix}:${name}`, 'KIND', ...options), 'OK')
}

/** Fails the test unless the client has kept all its promises. `admin` may read the generators. */
export async function assertExercised(
  observed: Observed,
  prefix: string,
  server: FahaoServer,
  admin: RawClient,
): Promise<void> {
  const ids = Object.entries(observed.ids).map(([name, texts]) => [name, texts.map(BigInt)] as const)
  for (const [name, taken] of ids) {
    assert.equal(new Set(taken).size, observed.synchronous[name] === 'bigint' ? 72 : 71, name)
    if (name !== 'coupon')
      assert.deepEqual(
        taken,
        taken.toSorted((a, b) => (a < b ? -1 : 1)),
        name,
      )
  }
  const [buffered, asked] = ['bigint', 'undefined']
  assert.deepEqual(observed.synchronous, {
    order: asked,
    time: asked,
    user: buffered,
    event: buffered,
    coupon: buffered,
    big: buffered,
  })
  // Neighbours, which a double could not tell apart.
  assert.deepEqual(
    observed.ids.big,
    Array.from({ length: 72 }, (_, at) => String(2n ** 53n + BigInt(at))),
  )
  assert.equal(observed.texts.user, 'u00000073')
  const decoded = await admin.command('ID.DECODE', observed.texts.event, `${prefix}:event`)
  assert.ok(Array.isArray(decoded), String(decoded))
  const eventId = decoded[decoded.indexOf('id') + 1]
  assert.ok(BigInt(String(eventId)) > BigInt(observed.ids.event!.at(-1)!))
  assert.equal(observed.requestsOfOneTurn, 1)
  assert.deepEqual(observed.worker, { id: 0, validity: [true, false] })
  const refused = { unsafe: 'UNSAFE', unknown: 'NOGENERATOR', aborted: 'AbortError', closed: 'SHUTDOWN' }
  assert.deepEqual(observed.refused, refused)
  await assertGivenBack(prefix, server, admin)
}

/** `close` has returned what was left: the next client goes on where the ids of this one ended. */
async function assertGivenBack(prefix: string, server: FahaoServer, admin: RawClient): Promise<void> {
  assert.deepEqual(await admin.command('ID.LEASES', 'MATCH', `${prefix}:*`), [])
  const next = await connect(`redis://127.0.0.1:${server.resp}`)
  assert.equal(await (await next.generator(`${prefix}:user`)).next(), 74n)
  await next.close()
}
