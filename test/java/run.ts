/** `npm run test:java`: Java clients of the compatible APIs against a built server, by Maven. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startFahao } from '../launch/fahao.ts'
import { inScope, type Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'

const tinyidToken = '0f673adf80504e2eaa552f5d791b644c'

await inScope(testClients)

async function testClients(lifetime: Lifetime): Promise<void> {
  const server = await startFahao(lifetime, {
    args: ['--compat', 'cosid,tinyid'],
    env: { FAHAO_TINYID_TOKENS: `${tinyidToken}=tinyid*` },
  })
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
  const maven = spawn('mvn', ['-B', '-ntp', '-f', project, ...properties, 'test'], { stdio: 'inherit' })
  const [code] = await once(maven, 'exit')
  process.exitCode = code ?? 1
}
