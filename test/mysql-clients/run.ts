/**
 * `npm run test:mysql-clients`: clients of MySQL in several languages through a built proxy, beside the same clients
 * without it. Prints a table, and each difference. Names that are given choose among the clients.
 */
import { inScope, type Lifetime } from '../launch/lifetime.ts'
import { isMariaDb } from '../launch/mysql.ts'
import { externalSubjects } from './external.ts'
import { firstId, type Subject } from './report.ts'
import { differences, type Outcome, startFilling } from './scene.ts'
import { subjects } from './subjects.ts'
import { tableOf } from './table.ts'

/** Where generated ids begin: of ten digits, and beyond the integers that a JavaScript number holds exactly. */
const starts = [firstId, 2n ** 62n]

/** Programs that refuse Oracle's MySQL by themselves. */
const mariadbOnly = new Set(['SQLAlchemy, mariadb'])

await inScope(tryClients)

async function tryClients(lifetime: Lifetime): Promise<void> {
  const chosen = process.argv.slice(2)
  const isChosen = ({ name }: Subject) =>
    (isMariaDb || !mariadbOnly.has(name)) &&
    (chosen.length === 0 || chosen.some((each) => name.includes(each)))
  const clients = [...subjects, ...(await externalSubjects(lifetime))].filter(isChosen)
  for (const start of starts) {
    const scene = await startFilling(lifetime, start)
    const outcomes = new Map<string, readonly Outcome[]>()
    for (const client of clients) {
      const own = await scene.compare(client)
      outcomes.set(client.name, own)
      const found = differences(own)
      if (found.length > 0) process.exitCode = 1
      for (const each of found) console.log(`${client.name}, ${each}`)
    }
    console.log(`\nIds from ${start} on:\n\n${tableOf(outcomes)}`)
  }
}
