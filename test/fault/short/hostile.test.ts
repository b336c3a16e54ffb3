/** Hostile clients. */
import { test } from 'node:test'
import { startFahao } from '../../launch/fahao.ts'
import { roundsOf } from '../campaign.ts'
import { endure, seed } from '../hostile-waits.ts'

test(`random frames from seed ${seed} neither end the process nor keep other clients waiting`, async (t) => {
  const server = await startFahao(t)
  await endure(t, server, { frames: { what: 'frames', port: server.resp, frames: roundsOf(1) * 2500, seed } })
})
