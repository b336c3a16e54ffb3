/** `kill -9` under load of a generator with GAPS none, and the numbers that no caller has got afterwards. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { create } from './campaign.ts'
import { Crowd } from './crowd.ts'

const callers = 64

/** Kills the server again and again while callers draw: each end loses one batch at most. */
export async function killedWithoutGaps(t: TestContext, kills: number, engine?: string): Promise<void> {
  const args = ['--log-level', 'warn']
  const server: FahaoServer = await startFahao(t, { args, ...(engine !== undefined && { engine }) })
  const setup = await server.connect()
  for (const name of ['plain']) await create(setup, name, 'sequence', 'GAPS', 'none')
  await setup.close()
  const portOf = () => server.resp
  const plain = new Crowd({ size: callers, portOf, command: () => ['ID.NEXT', 'plain'] })
  const crowds = [plain]
  for (let kill = 0; kill < kills; kill++) {
    await Promise.all(crowds.map((crowd) => crowd.wait(200)))
    await server.kill('SIGKILL')
    await server.start()
  }
  await Promise.all(crowds.map((crowd) => crowd.wait(200)))
  await Promise.all(crowds.map((crowd) => crowd.stop()))
  const missing = plain.missing()
  t.diagnostic(
    `${kills} kills, ${callers} callers: of ${plain.answers.size} numbers ${missing.length} are missing`,
  )
  for (const crowd of crowds) assert.deepEqual(crowd.repeated(), [])
  assert.ok(missing.length <= kills * callers, `${missing.length} numbers are missing after ${kills} kills`)
}
