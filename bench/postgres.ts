/** PostgreSQL's protocol: `SELECT nextval('…')` of Fahao beside PostgreSQL's own sequences, with pgbench. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { password, superuser } from '../test/launch/database.ts'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort, temporaryFolder } from '../test/launch/places.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { startProcess } from '../test/launch/process.ts'
import { runProgram } from '../test/launch/program.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Contender = {
  readonly name: string
  readonly port: number
  /** Undefined for PostgreSQL, whose processes end with their connections, and their CPU time with them. */
  readonly pid?: number
  readonly sequence: string
}
type Measured = { readonly perSecond: number; readonly cpuUs: number }

const connections = [1, 16, 64] as const
const modes = ['simple', 'prepared'] as const
const bareName = 'bare node:net'

/** 1, 16 and 64 connections, with simple queries and with prepared statements. */
export async function postgres(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const contenders = await startAll(lifetime)
  const folder = temporaryFolder(lifetime)
  const seconds = Math.max(1, Math.round(effort.seconds))
  const ratios: Figure[] = []
  const absolute: Figure[] = []
  for (const mode of modes)
    for (const count of connections) {
      const run = (contender: Contender) => measure(contender, folder, mode, count, seconds)
      for (const contender of contenders) await run(contender)
      const rounds = await interleaved(contenders, effort.rounds, run)
      const of = (name: string, key: keyof Measured) => {
        const contender = contenders.find((each) => each.name === name)!
        return rounds.get(contender)!.map((each) => each[key])
      }
      const at = `${mode}, ${count} connections`
      for (const ours of ['Fahao, sequence', 'Fahao, segment'])
        for (const theirs of ['PostgreSQL, CACHE 1', 'PostgreSQL, CACHE 1000'])
          ratios.push({
            what: `${at}: ${ours} to ${theirs}`,
            unit: '×',
            ...ratioOf(of(ours, 'perSecond'), of(theirs, 'perSecond')),
            budget: { least: 1.5 },
          })
      for (const name of contenders.slice(0, -1).map((each) => each.name))
        ratios.push({
          what: `${at}: ${name} to ${bareName}`,
          unit: '×',
          ...ratioOf(of(name, 'perSecond'), of(bareName, 'perSecond')),
        })
      for (const { name, pid } of contenders) {
        const perSecond = spreadOf(of(name, 'perSecond').map((each) => each / 1000))
        absolute.push({ what: `${at}: ${name}`, unit: 'k/s', ...perSecond })
        if (pid !== undefined)
          absolute.push({ what: `${at}: ${name}, server CPU`, unit: 'µs', ...spreadOf(of(name, 'cpuUs')) })
      }
    }
  const how = `\`pgbench -n -M simple\` and \`-M prepared\` with \`SELECT nextval('…')\`, ${seconds} s each, interleaved; PostgreSQL (durable), Fahao on SQLite (durable) and pgbench on the same two cores, and a server on \`node:net\` that answers with a counter and does nothing else. Ratios round by round, median of ${effort.rounds}.`
  return [{ name: "PostgreSQL's protocol: nextval", how, figures: [...ratios, ...absolute] }]
}

async function startAll(lifetime: Lifetime): Promise<Contender[]> {
  const theirs = await startPostgres(lifetime)
  await theirs.admin('CREATE SEQUENCE one CACHE 1; CREATE SEQUENCE thousand CACHE 1000')
  const port = await freePort()
  const ours = await startFahao(lifetime, {
    args: ['--log-level', 'warn', '--postgres', `127.0.0.1:${port}`],
  })
  const client = await RawClient.connect(ours.resp, lifetime)
  for (const kind of ['segment', 'sequence']) await client.command('ID.CREATE', kind, 'KIND', kind)
  const barePort = await freePort()
  const bare = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-postgres.ts'), `${barePort}`],
    readyWhen: { port: barePort },
  })
  const postgres = { port: theirs.port }
  const fahao = { port, pid: ours.pid }
  return [
    { name: 'PostgreSQL, CACHE 1', sequence: 'one', ...postgres },
    { name: 'PostgreSQL, CACHE 1000', sequence: 'thousand', ...postgres },
    { name: 'Fahao, sequence', sequence: 'sequence', ...fahao },
    { name: 'Fahao, segment', sequence: 'segment', ...fahao },
    { name: bareName, sequence: 'bare', port: barePort, pid: bare.pid },
  ]
}

async function measure(
  { port, pid, sequence }: Contender,
  folder: string,
  mode: (typeof modes)[number],
  count: number,
  seconds: number,
): Promise<Measured> {
  const file = join(folder, `${sequence}.sql`)
  writeFileSync(file, `SELECT nextval('${sequence}');\n`)
  const before = cpuUs(pid)
  const printed = await runProgram(
    [
      ...['pgbench', '-n', '-M', mode, '-f', file, '-c', `${count}`, '-j', `${Math.min(2, count)}`],
      ...['-T', `${seconds}`, '-h', '127.0.0.1', '-p', `${port}`, '-U', superuser, 'postgres'],
    ],
    { env: { PGPASSWORD: password } },
  )
  const transactions = Number(/transactions actually processed: (\d+)/.exec(printed)?.[1])
  const perSecond = Number(/tps = ([\d.]+) \(without/.exec(printed)?.[1])
  if (!(transactions > 0 && perSecond > 0)) throw new Error(`pgbench has printed no figures:\n${printed}`)
  return { perSecond, cpuUs: (cpuUs(pid) - before) / transactions }
}

function cpuUs(pid: number | undefined): number {
  return pid === undefined ? 0 : processCpuUs(pid)
}
