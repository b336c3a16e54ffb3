/** Generated requests against a real server: never a fault, every refusal in its form, no id lost to a refused request. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { creations } from '../integration/examples.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { answerIn, checkForm, idsIn } from './answers.ts'
import { type Document, type FuzzRequest, requestsFor } from './requests.ts'

/** What was sent, and what came back. */
export type FuzzReport = {
  readonly requests: number
  readonly ids: number
  /** Answers by operation and status. */
  readonly statuses: ReadonlyMap<string, number>
}

const requestsPerRun = 10
const answerWithinMs = 20_000

/** Starts a server and sends it `runs` times a few requests. Throws what a request has found, with its seed. */
export async function fuzzHttp(
  lifetime: Lifetime,
  { runs, seed }: { readonly runs: number; readonly seed?: number | undefined },
): Promise<FuzzReport> {
  const server = await startFahao(lifetime, {
    args: ['--compat', 'leaf,idbuilder,tinyid,cosid'],
    env: { FAHAO_TINYID_TOKENS: 't0ken-0123456789=*' },
  })
  const client = await server.connect()
  for (const creation of creations) {
    assert.equal(await client.command(...creation), 'OK')
  }
  // While it is stored, it stays on when other users are created.
  await client.command('ACL', 'SETUSER', 'default', 'on', 'nopass', '~*', '+@all')
  await client.close()
  const document = (await (await fetch(`${server.http}/openapi.json`)).json()) as Document
  const tally = new Tally()
  await fc.assert(
    fc.asyncProperty(
      fc.array(requestsFor(document), { minLength: 1, maxLength: requestsPerRun }),
      async (requests) => {
        const before = await issuedIds(server)
        let answered = 0
        for (const request of requests) answered += await answeredIds(server, request, tally)
        const after = await issuedIds(server)
        const counts = [before, after].map((each) => JSON.stringify([...each])).join(' became ')
        assert.equal(sum(after) - sum(before), answered, `the ids issued are those of the answers: ${counts}`)
      },
    ),
    { numRuns: runs, ...(seed !== undefined && { seed }) },
  )
  assert.equal(server.process.exit(), undefined, 'the server is alive')
  assert.doesNotMatch(server.output(), /an HTTP request failed/)
  return tally
}

class Tally implements FuzzReport {
  requests = 0
  ids = 0
  readonly statuses = new Map<string, number>()

  add(operation: string, status: number | string, ids: number): void {
    const key = `${operation} ${status}`
    this.requests++
    this.ids += ids
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + 1)
  }
}

/** Sends a request, checks its answer, and counts the ids in it. */
async function answeredIds(server: FahaoServer, request: FuzzRequest, tally: Tally): Promise<number> {
  const shown = request.bytes.toString('latin1').slice(0, 500)
  try {
    const answer = answerIn(await exchange(Number(new URL(server.http).port), request))
    if (answer === undefined) {
      assert.ok(request.isCut, 'a complete request is answered')
      tally.add(request.operation, 'cut', 0)
      return 0
    }
    checkForm(request, answer)
    const ids = idsIn(request, answer)
    tally.add(request.operation, answer.status, ids)
    return ids
  } catch (error) {
    throw new Error(`${shown}\n${server.output().slice(-2000)}`, { cause: error })
  }
}

async function exchange(port: number, { bytes, isCut }: FuzzRequest): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A server that refuses a body early may reset the connection; what it has answered counts.
  socket.on('error', () => {})
  socket.setTimeout(answerWithinMs, () => socket.destroy())
  if (isCut) socket.end(bytes)
  else socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks)
}

/** The ids that each generator has issued. */
async function issuedIds({ http }: FahaoServer): Promise<Map<string, number>> {
  const metrics = await (await fetch(`${http}/metrics`)).text()
  const series = metrics.matchAll(/^fahao_issued_ids_total\{generator="([^"]*)".*\} (\d+)$/gm)
  return new Map([...series].map(([, name, count]) => [name!, Number(count)]))
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, each) => all + each, 0)
}
