/** Clients of PostgreSQL that Node and Debian have; `npm run test:postgres-clients` tries more. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeCertificates } from '../launch/certificates.ts'
import { Scope } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { type Client, failed } from '../postgres-clients/client.ts'
import { asMeant } from '../postgres-clients/differences.ts'
import { installDrivers, localClients } from '../postgres-clients/local.ts'
import { psqlRefused } from '../postgres-clients/psql.ts'
import { type Scene, startScene } from '../postgres-clients/scene.ts'

describe('clients of PostgreSQL', { timeout: 300_000 }, () => {
  const scope = new Scope()
  let scene: Scene
  before(async () => {
    await installDrivers()
    scene = await startScene(scope)
  })
  after(() => scope.end())

  for (const client of localClients)
    test(`${client.name} gets what PostgreSQL gives`, () => assertAlike(scene, client))

  test('psql says of each statement that is refused that it is not supported', async () => {
    for (const { step, fahao } of await scene.compare(psqlRefused)) assert.equal(fahao, 'ERROR: 0A000', step)
  })
})

describe('clients of PostgreSQL with a password and TLS', { timeout: 300_000 }, () => {
  const scope = new Scope()
  let scene: Scene
  before(async () => {
    await installDrivers()
    scene = await startScene(scope, await makeCertificates(temporaryFolder(scope)))
  })
  after(() => scope.end())

  // The ORMs connect by the drivers that are tried here.
  const chosen = localClients.filter(({ name }) => !/,(?! statements)|ORMs/.test(name))
  for (const client of chosen)
    test(`${client.name} gets what PostgreSQL gives`, () => assertAlike(scene, client))
})

async function assertAlike(scene: Scene, client: Client): Promise<void> {
  const outcomes = (await scene.compare(client)).map((outcome) => asMeant(client.name, outcome))
  assert.deepEqual(
    outcomes.map(({ step, fahao }) => `${step}: ${fahao}`),
    outcomes.map(({ step, postgres }) => `${step}: ${postgres}`),
  )
  assert.ok(outcomes.length > 1 && !outcomes.some(({ step }) => step === failed))
}
