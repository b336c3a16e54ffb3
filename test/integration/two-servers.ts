/** Two servers on one store, for tests of what any node answers. */
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'

/** The servers, and a client of each. */
export type TwoServers = { readonly servers: FahaoServer[]; readonly clients: RawClient[] }

/** Starts them. `engine` undefined: the second one uses the SQLite file of the first. */
export async function startTwoServers(lifetime: Lifetime, engine: string | undefined): Promise<TwoServers> {
  const readyWithinMs = 60_000
  const first = await startFahao(lifetime, { ...(engine && { engine }), readyWithinMs })
  const second = await startFahao(lifetime, { engine: first.engine, readyWithinMs })
  return { servers: [first, second], clients: [await first.connect(), await second.connect()] }
}
