/**
 * `npm run bench [-- SECTION …] [-- --quick] [-- --before FOLDER]`: measures, prints, and leaves bench/latest.json and
 * bench/latest.md behind. Sections: resp, keys, families, http, process, client, memory, engine, freeze, database, gaps, cluster, legacy,
 * restart, skipped, login, quota, tls, users, runs, live, console, mysql-proxy, postgres. It starts and ends the systems that it compares. FOLDER
 * is a built checkout of an earlier commit, which resp, keys, http, process, freeze and runs measure beside this one.
 * `-- keys --only 20000@128` and `-- legacy --only import` measure one part of a section. Exits with 1 when a budget is not met, for use in a release.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { inScope, type Lifetime } from '../test/launch/lifetime.ts'
import { client } from './client.ts'
import { cluster } from './cluster.ts'
import { consolePages } from './console.ts'
import { database } from './database.ts'
import { engine } from './engine.ts'
import { families } from './families.ts'
import { freeze } from './freeze.ts'
import { gaps } from './gaps.ts'
import { http } from './http.ts'
import { inProcess } from './in-process.ts'
import { keys } from './keys.ts'
import { legacy } from './legacy.ts'
import { live } from './live.ts'
import { login } from './login.ts'
import { aboutThisRun } from './machine.ts'
import { memory } from './memory.ts'
import { mysqlProxy } from './mysql-proxy.ts'
import { postgres } from './postgres.ts'
import { quota } from './quota.ts'
import { markdownOf, type Report, type Section, sectionLines, verdict } from './report.ts'
import { resp } from './resp.ts'
import { restart } from './restart.ts'
import type { Effort } from './rounds.ts'
import { runs } from './runs.ts'
import { skipped } from './skipped.ts'
import { tls } from './tls.ts'
import { users } from './users.ts'

const measures: Readonly<Record<string, (lifetime: Lifetime, effort: Effort) => Promise<Section[]>>> = {
  resp,
  keys,
  families,
  http,
  process: inProcess,
  client,
  memory,
  engine,
  freeze,
  database,
  gaps,
  cluster,
  legacy,
  restart,
  skipped,
  login,
  quota,
  tls,
  users,
  runs,
  live,
  console: consolePages,
  'mysql-proxy': mysqlProxy,
  postgres,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    before: { type: 'string' },
    only: { type: 'string' },
    names: { type: 'string' },
  },
})
const unknown = positionals.find((name) => !Object.hasOwn(measures, name))
if (unknown !== undefined) {
  console.error(`There is no section '${unknown}'; there are ${Object.keys(measures).join(', ')}.`)
  process.exit(2)
}
const effort: Effort = {
  ...(values.quick ? { rounds: 3, seconds: 1, quick: true } : { rounds: 7, seconds: 1.5, quick: false }),
  ...(values.before && { before: resolve(values.before) }),
  ...(values.only && { only: values.only }),
  ...(values.names && { names: Number(values.names) }),
}
const about = aboutThisRun(values.quick ? 'quick' : 'full')
const sections: Section[] = []
for (const [name, measure] of Object.entries(measures)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  console.error(`measuring ${name} …`)
  for (const section of await inScope((lifetime) => measure(lifetime, effort))) {
    console.log(sectionLines(section).join('\n'))
    sections.push(section)
  }
  // After each section, so that a failing section does not lose the others.
  writeReport({ about, sections })
}
const short = sections.flatMap(({ figures }) => figures).filter((figure) => verdict(figure) === 'short')
console.error(`${short.length} budgets are not met; bench/latest.md has it all`)
process.exitCode = short.length > 0 ? 1 : 0

function writeReport(report: Report): void {
  writeFileSync(join(import.meta.dirname, 'latest.json'), `${JSON.stringify(report, undefined, 2)}\n`)
  writeFileSync(join(import.meta.dirname, 'latest.md'), markdownOf(report))
}
