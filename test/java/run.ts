/**
 * `npm run test:java`: Java clients of the compatible APIs against a built server, by Maven. `specifications`, `shop` or `genes` as an
 * argument runs one of them.
 */
import { join } from 'node:path'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { inScope, type Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { routeOrders } from './genes.ts'
import { fillShops } from './shop.ts'

const tinyidToken = '0f673adf80504e2eaa552f5d791b644c'
const parts = { specifications, shop: fillShops, genes: routeOrders }

await inScope(testClients)

async function testClients(lifetime: Lifetime): Promise<void> {
  const server = await startFahao(lifetime, {
    args: ['--compat', 'cosid,tinyid'],
    env: { FAHAO_TINYID_TOKENS: `${tinyidToken}=tinyid*` },
  })
  const chosen = process.argv.slice(2)
  for (const [name, part] of Object.entries(parts)) {
    if (chosen.length === 0 || chosen.includes(name)) console.log(await part(lifetime, server))
  }
}

/** Resolves to what Maven prints of the specifications; rejects if one of them fails. */
async function specifications(lifetime: Lifetime, server: FahaoServer): Promise<string> {
  const client = await server.connect()
  await client.command('ID.CREATE', 'tinyid_odd', 'KIND', 'segment', 'INCREMENT', '2', 'OFFSET', '1')
  await client.close()
  const project = join(import.meta.dirname, 'pom.xml')
  const facts = {
    'fahao.url': server.http,
    'fahao.tinyid': tinyidToken,
    target: join(temporaryFolder(lifetime), 'target'),
  }
  const properties = Object.entries(facts).map(([name, value]) => `-D${name}=${value}`)
  return runProgram(['mvn', '-B', '-ntp', '-f', project, ...properties, 'test'])
}
