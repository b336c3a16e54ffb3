/** The outcomes of clients as a table of Markdown. */
import { asMeant } from './differences.ts'
import type { Outcome } from './scene.ts'

/** One row for each client: how many of its steps are as with PostgreSQL, and which are not. */
export function tableOf(clients: ReadonlyMap<string, readonly Outcome[]>): string {
  const rows = [...clients].map(([client, outcomes]) => {
    const differing = outcomes.filter(({ postgres, fahao }) => postgres !== fahao)
    const isMeant = (outcome: Outcome) => asMeant(client, outcome).postgres === outcome.fahao
    const named = differing.map((outcome) => (isMeant(outcome) ? `${outcome.step} (meant)` : outcome.step))
    return [client, `${outcomes.length - differing.length} of ${outcomes.length}`, named.join(', ') || 'none']
  })
  return [['client', 'steps as with PostgreSQL', 'others'], ['---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}
