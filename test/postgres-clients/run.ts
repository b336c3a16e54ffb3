/**
 * `npm run test:postgres-clients`: clients of PostgreSQL in several languages on a built server of this repository, beside
 * the same clients on PostgreSQL. Prints a table, and each difference. Names that are given choose among the clients.
 */
import { makeCertificates } from '../launch/certificates.ts'
import { inScope, type Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import type { Client } from './client.ts'
import { asMeant } from './differences.ts'
import { externalClients } from './external.ts'
import { installDrivers, localClients } from './local.ts'
import { type Outcome, startScene } from './scene.ts'
import { tableOf } from './table.ts'

await inScope(tryClients)

async function tryClients(lifetime: Lifetime): Promise<void> {
  const chosen = process.argv.slice(2)
  const isChosen = ({ name }: Client) => chosen.length === 0 || chosen.some((each) => name.includes(each))
  await installDrivers()
  const clients = [...localClients, ...(await externalClients(lifetime))].filter(isChosen)
  const certificates = await makeCertificates(temporaryFolder(lifetime))
  for (const tls of [undefined, certificates]) {
    const scene = await startScene(lifetime, tls)
    const outcomes = new Map<string, readonly Outcome[]>()
    for (const client of clients) {
      const own = await scene.compare(client)
      outcomes.set(client.name, own)
      for (const each of own) report(client, each)
    }
    console.log(`\n${tls ? 'With users and TLS' : 'Without users'}:\n\n${tableOf(outcomes)}`)
  }
}

function report({ name }: Client, outcome: Outcome): void {
  const { step, postgres, fahao } = asMeant(name, outcome)
  if (postgres === fahao) return
  process.exitCode = 1
  console.log(`${name}, ${step}\n  PostgreSQL: ${postgres}\n  Fahao:      ${fahao}`)
}
