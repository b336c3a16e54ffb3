/**
 * The thread of queries: parses, analyses and runs one job at a time, and keeps nothing of a session between them.
 *
 * Invariants
 *  1. A job has one answer or one error, which is its last message.
 *  2. A run that misses sequences begins again once they are loaded. It has no effect: the settings that it changes are part of
 *     its answer.
 *  3. A run that takes too much memory is refused by the evaluator, which looks often: V8 ends the whole process where one
 *     allocation passes its own limit for a thread by 16 MB.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { Generations } from '../base/generations.ts'
import { encodeRows } from './encoded-rows.ts'
import { outOfMemory } from './errors.ts'
import { loadParser, parse } from './parser.ts'
import { type Analysed, analyseStatement, runStatement } from './query/catalog-query.ts'
import { Missing, Snapshot } from './query/snapshot.ts'
import { drawsIn, queryIn } from './query-text.ts'
import { checkedValue } from './session-settings.ts'
import { SqlError } from './sql-error.ts'
import { isShort, longTreeMax } from './statement-size.ts'
import type {
  Answer,
  Change,
  Described,
  FromThread,
  ReadStatement,
  Request,
  SentError,
  ToThread,
} from './thread-messages.ts'

const port = parentPort!
/** The most memory of its heap, in bytes. */
const heapBytesMax: number = workerData.memoryMb * 1_048_576
// V8 gives its function for this to new contexts only.
setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')
/** Above it the memory of the parser, which never shrinks, has grown too much, in bytes. */
const growthMax = 67_108_864
/** The most characters of the texts of analysed queries that are kept, and the characters that a query itself counts for. */
const kept = { charactersMax: 524_288, characters: 5000 }

type Run = Extract<Request, { type: 'run' }>
/** The run that waits for sequences. */
type Job = { readonly id: number; readonly run: Run; readonly snapshot: Snapshot }

let startBytes = 0
const known = new Generations<string, Analysed>(kept.charactersMax, (_, key) => key.length + kept.characters)
let job: Job | undefined
void start()

/** Not `await` of the module itself: the executable has CommonJS, which lacks it. */
async function start(): Promise<void> {
  await loadParser()
  startBytes = process.memoryUsage().external
  port.on('message', receive)
  port.postMessage('ready' satisfies FromThread)
}

function receive(message: ToThread): void {
  if ('request' in message) return begin(message.id, message.request)
  if (job?.id !== message.id) return
  job.snapshot.add(message.load)
  if (message.isLast) attempt(job)
}

function begin(id: number, request: Request): void {
  job = undefined
  if (request.type === 'run') {
    job = { id, run: request, snapshot: new Snapshot() }
    return attempt(job)
  }
  try {
    answer(id, request.type === 'read' ? read(request.text) : describe(request.text, request.declared))
  } catch (error) {
    fail(id, error)
  }
}

function attempt({ id, run, snapshot }: Job): void {
  const { text, declared, values, formats, session } = run
  const changes: Change[] = []
  const changeSetting = (name: string, value: string, isLocal: boolean): string => {
    changes.push({ name, value, isLocal })
    return checkedValue(name, value)
  }
  try {
    const analysed = analysedOf(text, declared)
    const { rows, objects } = runStatement(analysed, values, {
      session,
      snapshot,
      changeSetting,
      demandMemory,
    })
    const made = encodeRows(rows, analysed.columns, objects, formats)
    answer(id, { ...made, changes }, made.chunks)
  } catch (error) {
    if (error instanceof Missing) send({ id, missing: error.wanted })
    else fail(id, error)
  }
}

/** Throws 53200 if what is in use is above the limit, without what only waits for its collection. */
function demandMemory(): void {
  if (getHeapStatistics().used_heap_size <= heapBytesMax) return
  collectGarbage()
  if (getHeapStatistics().used_heap_size > heapBytesMax) throw outOfMemory()
}

function read(text: string): ReadStatement[] {
  return parse(text).map(({ node, from, to }) => {
    if (isShort(text.slice(from, to)) || ('SelectStmt' in node && !drawsIn(node))) return { from, to }
    if (to - from > longTreeMax)
      throw new SqlError(
        '54000',
        `a statement that is no SELECT from catalogues has at most ${longTreeMax} characters; send shorter ones`,
      )
    return { from, to, tree: JSON.stringify(node) }
  })
}

function describe(text: string, declared: readonly number[]): Described {
  const { parameters, columns } = analysedOf(text, declared)
  return { parameters, columns: columns.map(({ fields: _, ...column }) => column) }
}

/** A query, analysed: those that were used last are kept. */
function analysedOf(text: string, declared: readonly number[]): Analysed {
  const key = `${declared} ${text}`
  const found = known.get(key)
  if (found !== undefined) return found
  const node = queryIn(parse(text)[0]!.node)!
  const analysed = analyseStatement(node, declared, text)
  known.add(key, analysed)
  return analysed
}

function send(message: FromThread, transferred: readonly Buffer[] = []): void {
  port.postMessage(
    message,
    transferred.map(({ buffer }) => buffer as ArrayBuffer),
  )
}

function answer(id: number, given: Answer, transferred: readonly Buffer[] = []): void {
  job = undefined
  send({ id, answer: given, isSpent: isSpent() }, transferred)
}

function fail(id: number, error: unknown): void {
  job = undefined
  // The parser may have stopped half way.
  const isDeep = error instanceof SqlError && error.sqlState === '54001'
  send({ id, error: sent(error), isSpent: isDeep || isSpent() })
}

function sent(error: unknown): SentError {
  if (!(error instanceof SqlError))
    return { fault: error instanceof Error ? (error.stack ?? '') : String(error) }
  const { sqlState, message, details } = error
  return { sqlState, message, details }
}

function isSpent(): boolean {
  return process.memoryUsage().external - startBytes > growthMax
}
