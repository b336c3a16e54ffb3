/**
 * `npm run test:failover-clients`: cluster clients in several languages while the leader of their generators is killed or
 * stopped, with one shard and with 16. Prints a table of the seconds without ids, and of the errors. Names that are given choose
 * among the clients.
 */
import { inScope } from '../launch/lifetime.ts'
import { makeClients } from './clients.ts'
import { type Outcome, type Trial, tryOut } from './trial.ts'

const trials: readonly Trial[] = [1, 16].flatMap((shards) => [
  { shards, signal: 'SIGKILL' as const },
  { shards, signal: 'SIGTERM' as const },
])

await inScope(async (lifetime) => {
  const clients = await makeClients(lifetime, process.argv.slice(2))
  const columns: Map<string, Outcome>[] = []
  for (const trial of trials) {
    const outcomes = await tryOut(clients, trial)
    columns.push(outcomes)
    for (const [name, { error, isAscending }] of outcomes) {
      if (error !== undefined) console.error(`${textOf(trial)}: ${name}: ${error}`)
      if (!isAscending)
        throw new Error(`${textOf(trial)}: ${name} was given an id that is not above the one before`)
    }
  }
  console.log(`| client | ${trials.map(textOf).join(' | ')} |\n|${'---|'.repeat(trials.length + 1)}`)
  for (const { name } of clients)
    console.log(`| ${name} | ${columns.map((outcomes) => cellOf(outcomes.get(name)!)).join(' | ')} |`)
})

function textOf({ shards, signal }: Trial): string {
  return `${shards === 1 ? '1 shard' : `${shards} shards`}, ${signal === 'SIGKILL' ? '`kill -9`' : 'SIGTERM'}`
}

function cellOf({ hasRecovered, withoutIdsS, errors }: Outcome): string {
  const seconds = hasRecovered ? `${withoutIdsS.toFixed(1)} s` : `**none for ${Math.round(withoutIdsS)} s**`
  return `${seconds}, ${errors === 0 ? 'no error' : `${errors} error${errors === 1 ? '' : 's'}`}`
}
