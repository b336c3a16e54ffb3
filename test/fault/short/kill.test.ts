/** kill -9 under load, once at each point. */
import { test } from 'node:test'
import { roundsOf } from '../campaign.ts'
import { repeatedKills } from '../kill-points.ts'

test('a server that is killed repeats nothing and keeps order', (t) => repeatedKills(t, roundsOf(4)))
