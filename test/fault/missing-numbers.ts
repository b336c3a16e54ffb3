/** `kill -9` under load of a generator with GAPS none, and the numbers that no caller has got afterwards. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { create } from './campaign.ts'
import { Crowd, missingOf, repeatedOf } from './crowd.ts'

const callers = 64

/**
 * Kills the server again and again while callers draw. Each end loses one batch at most of callers that give a request up, and no
 * number of callers that repeat their requests with the same keys.
 */
export async function killedWithoutGaps(t: TestContext, kills: number, engine?: string): Promise<void> {
  const args = ['--log-level', 'warn']
  const server: FahaoServer = await startFahao(t, { args, ...(engine !== undefined && { engine }) })
  const setup = await server.connect()
  for (const name of ['plain', 'keyed']) await create(setup, name, 'sequence', 'GAPS', 'none')
  await setup.close()
  const port = () => server.resp
  const plain = new Crowd({ size: callers, port, command: () => ['ID.NEXT', 'plain'] })
  const command = (request: string) => ['ID.NEXT', 'keyed', 'KEY', request]
  const keyed = new Crowd({ size: callers, port, command, repeats: true })
  const crowds = [plain, keyed]
  for (let kill = 0; kill < kills; kill++) {
    await Promise.all(crowds.map((crowd) => crowd.wait(200)))
    await server.kill('SIGKILL')
    await server.start()
  }
  await Promise.all(crowds.map((crowd) => crowd.wait(200)))
  await Promise.all(crowds.map((crowd) => crowd.stop()))
  const [missing, missingOfKeyed] = crowds.map(({ answers }) => missingOf(answers.values()))
  t.diagnostic(`${kills} kills, ${callers} callers each: of ${plain.answers.size} numbers without keys \
${missing!.length} are missing, of ${keyed.answers.size} with keys ${missingOfKeyed!.length}`)
  for (const { answers } of crowds) assert.deepEqual(repeatedOf(answers.values()), [])
  assert.ok(missing!.length <= kills * callers, `${missing!.length} numbers are missing after ${kills} kills`)
  assert.deepEqual(missingOfKeyed, [])
}
