/**
 * HTTP: one id without users, with a token, with a password and at another node than the leader, and a hundred ids, against
 * node:http with a constant body of the same size.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { startEtcd } from '../test/launch/etcd.ts'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { startProcess } from '../test/launch/process.ts'
import { startNodes } from './cluster.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Budget, Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

/** What is asked, and the processes that spend CPU on it. */
type Server = { readonly port: number; readonly pids: readonly number[]; readonly request: string }
type Measured = { readonly perSecond: number; readonly cpuUs: number }
type Method = 'GET' | 'POST'

/** A case: a title, a request, and its budgets. */
type Case = {
  readonly name: string
  /** Starts what is asked. @param checkout an earlier build. */
  readonly start: (lifetime: Lifetime, checkout?: string) => Promise<Server>
  /** Throughput relative to bare node:http. */
  readonly budget?: Budget
  /** CPU per request, in µs. */
  readonly cpuMost?: number
}

const connections = 50
const password = 'of the bench'
const next = '/v1/generators/order/next'
const token = 'benchmark-of-100-ids'

const cases: readonly Case[] = [
  { name: 'one id', start: open('POST', next), budget: { least: 0.8, aim: 0.85 } },
  { name: 'one id, by a token', start: startWithUser('token'), budget: { least: 0.75 } },
  { name: 'one id, by a password', start: startWithUser('password'), budget: { least: 0.7 } },
  { name: '100 ids', start: open('POST', `${next}?count=100`), budget: { least: 0.8 } },
  {
    name: '100 ids as tinyid’s clients ask for them',
    start: open('GET', `/tinyid/id/nextIdSimple?bizType=order&token=${token}&batchSize=100`),
  },
  { name: 'one id, of another leader', start: startForwarding, budget: { least: 0.45 }, cpuMost: 60 },
]

/** Each case beside a bare server. */
export async function http(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const sections: Section[] = []
  for (const one of cases) sections.push(await compare(lifetime, effort, one))
  return sections
}

function open(method: Method, path: string): Case['start'] {
  return async (lifetime, checkout) => {
    const server = await startFahao(lifetime, {
      ...(checkout && { checkout }),
      args: ['--log-level', 'warn', '--compat', 'tinyid', '--tinyid-tokens', `${token}=order`],
    })
    await createOrder(server)
    return asked(server, requestOf(method, path))
  }
}

/** A user with patterns of names and categories of commands. */
function startWithUser(by: 'token' | 'password'): Case['start'] {
  return async (lifetime, checkout) => {
    const server = await startFahao(lifetime, {
      ...(checkout && { checkout }),
      args: ['--log-level', 'warn'],
      env: { FAHAO_ADMIN_PASSWORD: password },
    })
    const admin = basic('admin')
    await createOrder(server, 'order', admin)
    const rules = ['on', `>${password}`, '~order*', '~user*', '+@issue']
    await ask(`${server.http}/v1/users/bench`, 'PUT', { rules }, admin)
    const made = await ask(`${server.http}/v1/tokens`, 'POST', { user: 'bench', label: 'bench' }, admin)
    const authorization = by === 'token' ? `Bearer ${JSON.parse(made).token}` : basic('bench')
    return asked(server, requestOf('POST', next, authorization))
  }
}

/** Two nodes: the one that is asked does not lead. */
async function startForwarding(lifetime: Lifetime, checkout?: string): Promise<Server> {
  const etcd = await startEtcd(lifetime)
  const { nodes } = await startNodes(lifetime, etcd, 2, 'http', checkout)
  const [follower, leader] = [nodes[0]!, nodes[1]!]
  await createOrder(leader.server, leader.tag)
  const pids = [follower.server.pid, leader.server.pid]
  return { ...asked(follower.server, requestOf('POST', `/v1/generators/${leader.tag}/next`)), pids }
}

function asked({ http, pid }: FahaoServer, request: string): Server {
  return { port: Number(new URL(http).port), pids: [pid], request }
}

/** Ten digits from the first id to the last, so that all bodies of a case have the same size. */
async function createOrder({ http }: FahaoServer, name = 'order', authorization?: string): Promise<void> {
  await ask(`${http}/v1/generators/${name}`, 'PUT', { kind: 'sequence', start: '1000000000' }, authorization)
}

function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function requestOf(method: Method, path: string, authorization?: string): string {
  const headers = [
    'host: localhost',
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    ...(method === 'POST' ? ['content-length: 0'] : []),
  ]
  return `${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`
}

async function compare(
  lifetime: Lifetime,
  effort: Effort,
  { name, start, budget, cpuMost }: Case,
): Promise<Section> {
  const ours = await start(lifetime)
  const theirs = await startBare(lifetime, ours)
  const before = effort.before === undefined ? undefined : await start(lifetime, effort.before)
  const contenders = [ours, theirs, ...(before ? [before] : [])]
  const seconds = Math.ceil(effort.seconds * 2)
  for (const server of contenders) await measure(server, 2)
  const rounds = await interleaved(contenders, effort.rounds, (server) => measure(server, seconds))
  const of = (server: Server, figure: keyof Measured) => rounds.get(server)!.map((each) => each[figure])
  const ratio = (figure: keyof Measured, to: Server) => ratioOf(of(ours, figure), of(to, figure))
  const absolutes = (who: string, server: Server, most?: number): Figure[] => [
    { what: `${who}, requests`, unit: 'k/s', ...spreadOf(of(server, 'perSecond').map(thousands)) },
    {
      what: `${who}, CPU per request${server.pids.length > 1 ? ', both nodes' : ''}`,
      unit: 'µs',
      ...(most === undefined ? {} : { budget: { most } }),
      ...spreadOf(of(server, 'cpuUs')),
    },
  ]
  return {
    name: `HTTP: ${name}`,
    how: `${connections} connections, each with the same request again after each answer, by \`bench/http-load.ts\` in a process of its own, ${seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}. The body of bare node:http is one of Fahao’s answers.`,
    figures: [
      {
        what: 'throughput to bare node:http',
        unit: '×',
        ...(budget === undefined ? {} : { budget }),
        ...ratio('perSecond', theirs),
      },
      { what: 'server CPU per request to bare node:http', unit: '×', ...ratio('cpuUs', theirs) },
      ...(before
        ? [
            { what: 'throughput to the earlier build', unit: '×', ...ratio('perSecond', before) },
            { what: 'server CPU per request to the earlier build', unit: '×', ...ratio('cpuUs', before) },
          ]
        : []),
      ...absolutes('Fahao', ours, cpuMost),
      ...absolutes('bare node:http', theirs),
      ...(before ? absolutes('the earlier build', before) : []),
    ],
  }
}

async function startBare(lifetime: Lifetime, { port: model, request }: Server): Promise<Server> {
  const [, method = '', path = ''] = /^(\S+) (\S+)/.exec(request) ?? []
  const authorization = /^authorization: (.*)\r$/m.exec(request)?.[1]
  const body = await ask(`http://127.0.0.1:${model}${path}`, method, undefined, authorization)
  const port = await freePort()
  const running = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-http.ts'), `${port}`, 'application/json; charset=utf-8', body],
    readyWhen: { port },
  })
  return { port, pids: [running.pid], request }
}

async function ask(url: string, method: string, body?: object, authorization?: string): Promise<string> {
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    ...(authorization && { authorization }),
  }
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} was answered with ${response.status}: ${text}`)
  return text
}

async function measure({ port, pids, request }: Server, seconds: number): Promise<Measured> {
  const cpuUs = () => pids.reduce((sum, pid) => sum + processCpuUs(pid), 0)
  const before = cpuUs()
  const args = [join(import.meta.dirname, 'http-load.ts'), port, connections, seconds].map(String)
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(request)
  const result = (await json(child.stdout)) as { answered: number; failed: number; seconds: number }
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.answered} requests failed: ${request}`)
  return { perSecond: result.answered / result.seconds, cpuUs: (cpuUs() - before) / result.answered }
}

function thousands(value: number): number {
  return value / 1000
}
