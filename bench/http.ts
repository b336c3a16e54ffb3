/** HTTP: one id per request, and a hundred, against node:http with a constant body of the same size. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { startProcess } from '../test/launch/process.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Server = { readonly url: string; readonly method: 'GET' | 'POST'; readonly pid: number }
type Measured = { readonly perSecond: number; readonly cpuUs: number }

const runFile = promisify(execFile)
const autocannon = createRequire(import.meta.url).resolve('autocannon')

/** A case: a title, a request, and its budget relative to bare node:http. */
type Case = {
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly least?: number
}

const cases: readonly Case[] = [
  { name: 'one id', method: 'POST', path: '/v1/generators/order/next', least: 0.8 },
  { name: '100 ids', method: 'POST', path: '/v1/generators/order/next?count=100' },
  {
    name: '100 ids as tinyid’s clients ask for them',
    method: 'GET',
    path: '/tinyid/id/nextIdSimple?bizType=order&token=benchmark-of-100-ids&batchSize=100',
  },
]

/** One id, and batches of 100. */
export async function http(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const fahao = await startOurs(lifetime)
  const before = effort.before === undefined ? undefined : await startOurs(lifetime, effort.before)
  const sections: Section[] = []
  for (const one of cases) sections.push(await compare(lifetime, effort, { fahao, before }, one))
  return sections
}

async function startOurs(lifetime: Lifetime, checkout?: string): Promise<FahaoServer> {
  const fahao = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    args: ['--log-level', 'warn', '--compat', 'tinyid', '--tinyid-tokens', 'benchmark-of-100-ids=order'],
  })
  // Ten digits from the first id to the last, so that all bodies of a case have the same size.
  await request(`${fahao.http}/v1/generators/order`, 'PUT', { kind: 'sequence', start: '1000000000' })
  return fahao
}

async function compare(
  lifetime: Lifetime,
  effort: Effort,
  servers: { readonly fahao: FahaoServer; readonly before: FahaoServer | undefined },
  { name, method, path, least }: Case,
): Promise<Section> {
  const askedOf = ({ http, pid }: FahaoServer) => ({ url: `${http}${path}`, method, pid })
  const ours = askedOf(servers.fahao)
  const theirs = await startBare(lifetime, ours)
  const before = servers.before && askedOf(servers.before)
  const contenders = [ours, theirs, ...(before ? [before] : [])]
  const seconds = Math.ceil(effort.seconds * 2)
  for (const server of contenders) await measure(server, 2)
  const rounds = await interleaved(contenders, effort.rounds, (server) => measure(server, seconds))
  const of = (server: Server, figure: keyof Measured) => rounds.get(server)!.map((each) => each[figure])
  const ratio = (figure: keyof Measured, to: Server) => ratioOf(of(ours, figure), of(to, figure))
  const absolutes = (who: string, server: Server): Figure[] => [
    { what: `${who}, requests`, unit: 'k/s', ...spreadOf(of(server, 'perSecond').map(thousands)) },
    { what: `${who}, CPU per request`, unit: 'µs', ...spreadOf(of(server, 'cpuUs')) },
  ]
  return {
    name: `HTTP: ${name}`,
    how: `\`autocannon -c 50 -m ${method}\` in a process of its own, ${seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}. The body of bare node:http is one of Fahao’s answers.`,
    figures: [
      {
        what: 'throughput to bare node:http',
        unit: '×',
        ...(least === undefined ? {} : { budget: { least } }),
        ...ratio('perSecond', theirs),
      },
      { what: 'server CPU per request to bare node:http', unit: '×', ...ratio('cpuUs', theirs) },
      ...(before
        ? [
            { what: 'throughput to the earlier build', unit: '×', ...ratio('perSecond', before) },
            { what: 'server CPU per request to the earlier build', unit: '×', ...ratio('cpuUs', before) },
          ]
        : []),
      ...absolutes('Fahao', ours),
      ...absolutes('bare node:http', theirs),
      ...(before ? absolutes('the earlier build', before) : []),
    ],
  }
}

async function startBare(lifetime: Lifetime, { url, method }: Server): Promise<Server> {
  const model = await request(url, method)
  const port = await freePort()
  const running = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-http.ts'), `${port}`, model.type, model.body],
    readyWhen: { port },
  })
  return { url: `http://127.0.0.1:${port}${new URL(url).pathname}`, method, pid: running.pid }
}

async function request(url: string, method: string, json?: object): Promise<{ type: string; body: string }> {
  const sent = json && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
  const response = await fetch(url, { method, ...sent })
  const body = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} was answered with ${response.status}: ${body}`)
  return { type: response.headers.get('content-type') ?? '', body }
}

async function measure({ url, method, pid }: Server, seconds: number): Promise<Measured> {
  const before = processCpuUs(pid)
  const args = [autocannon, '--json', '-c', '50', '-d', `${seconds}`, '-m', method, url]
  const { stdout } = await runFile(process.execPath, args, { maxBuffer: 2 ** 24 })
  const result: { requests: { total: number }; duration: number; non2xx: number; errors: number } =
    JSON.parse(stdout)
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`autocannon met errors: ${stdout}`)
  const { total } = result.requests
  return { perSecond: total / result.duration, cpuUs: (processCpuUs(pid) - before) / total }
}

function thousands(value: number): number {
  return value / 1000
}
