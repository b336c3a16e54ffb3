/**
 * The queries of a server: jobs for one thread, which is started when there is one, and replaced when it has ended.
 *
 * Invariants
 *  1. One job at a time is in the thread. The others wait, and users take turns.
 *  2. A job is settled once: by its answer or error, by its cancel or time limit, or by the end of the thread. What the thread
 *     says about another job than the present one is ignored.
 *  3. A thread that ends costs the job that it had: those that wait run on the next one.
 *  4. A job that is cancelled is settled at once. One that the thread has begun blocks others for `graceMs` at most.
 *  5. What a job takes of the thread's time is bounded by `timeMs`; the time in which the thread starts, or the main thread loads
 *     sequences for it, does not count.
 */
import type { Worker } from 'node:worker_threads'
import { systemClock, type Timer } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import { startThread } from '../installation/threads.ts'
import { closingErrors, outOfMemory } from './errors.ts'
import type { Loaded, Wanted } from './query/snapshot.ts'
import { SqlError } from './sql-error.ts'
import type { Answers, FromThread, Request, SentError, ToThread } from './thread-messages.ts'

/** What a thread may use. */
export type QueryLimits = {
  /** Time for a job, in ms. */
  readonly timeMs: number
  /** How long a cancelled job may continue, in ms. */
  readonly graceMs: number
  /** Memory of a query, in MB. */
  readonly memoryMb: number
}

/**
 * What the heap of a thread may take above the memory of a query, in MB: more than the rows that a query may keep. The thread
 * refuses queries before it is used up; reaching V8's own limit may end the process.
 */
const spareMb = 512
/** How long a thread may take to start, in ms. */
const startMs = 60_000

const defaultLimits: QueryLimits = Object.freeze({ timeMs: 10_000, graceMs: 500, memoryMb: 256 })

/** The session that a job runs for. */
export interface Requester {
  readonly user: string
  readonly signal: AbortSignal
  /** The setting statement_timeout, in ms; 0: none. */
  readonly timeoutMs: number
  /** Gives what a run wants, in one or several parts. */
  load(wanted: Wanted, give: (loaded: Loaded, isLast: boolean) => void): Promise<void>
}

type Job = {
  readonly id: number
  readonly request: Request
  readonly asker: Requester
  readonly settle: (outcome: { readonly answer: unknown } | { readonly error: unknown }) => void
  isSettled: boolean
  leftMs: number
}

/** Jobs for the thread. */
export class QueryQueue {
  /** How many threads were started. */
  started = 0
  readonly #limits: QueryLimits
  /** The jobs of each user that wait. The user whose turn is next comes first. */
  readonly #waiting = new Map<string, Job[]>()
  #thread: Worker | undefined
  #isReady = false
  #running: Job | undefined
  #newestId = 0
  /** While the thread computes: when it is ended, and since when it computes. */
  #deadline: Timer | undefined
  #sinceUs = 0
  #isClosed = false

  constructor(limits: Partial<QueryLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
  }

  /** Runs a job. Rejects with the error of its statement, 57014, 53200, 54000. */
  run<Type extends Request['type']>(
    request: Extract<Request, { type: Type }>,
    asker: Requester,
  ): Promise<Answers[Type]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closingErrors.stopping)
      const cancel = () => this.#cancel(job, 'canceling statement due to user request')
      const { signal, timeoutMs } = asker
      const timeout =
        timeoutMs > 0
          ? systemClock.timer(timeoutMs, () =>
              this.#cancel(job, 'canceling statement due to statement timeout'),
            )
          : undefined
      const job: Job = {
        id: ++this.#newestId,
        request,
        asker,
        isSettled: false,
        leftMs: this.#limits.timeMs,
        settle: (outcome) => {
          if (job.isSettled) return
          job.isSettled = true
          signal.removeEventListener('abort', cancel)
          timeout?.cancel()
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.answer as Answers[Type])
        },
      }
      if (signal.aborted) return cancel()
      signal.addEventListener('abort', cancel)
      const { user } = asker
      const others = this.#waiting.get(user)
      if (others === undefined) this.#waiting.set(user, [job])
      else others.push(job)
      this.#next()
    })
  }

  /** Ends the thread, and refuses what waits. */
  close(): void {
    this.#isClosed = true
    for (const jobs of this.#waiting.values())
      for (const job of jobs) job.settle({ error: closingErrors.stopping })
    this.#waiting.clear()
    this.#replace(closingErrors.stopping)
  }

  /** Begins the next job, if the thread has none. */
  #next(): void {
    if (this.#running !== undefined || this.#isClosed) return
    const [first] = this.#waiting
    if (first === undefined) return
    const [user, jobs] = first
    const job = jobs.shift()!
    this.#waiting.delete(user)
    if (jobs.length > 0) this.#waiting.set(user, jobs)
    this.#running = job
    this.#post({ id: job.id, request: job.request })
  }

  /** Sends the thread its next message. */
  #post(message: ToThread, isLast = true): void {
    this.#thread ??= this.#start()
    this.#thread.postMessage(message)
    const job = this.#running
    if (!isLast || job === undefined) return
    this.#sinceUs = systemClock.monoUs()
    this.#limit(this.#isReady ? job.leftMs : startMs)
  }

  #limit(ms: number): void {
    this.#deadline?.cancel()
    this.#deadline = systemClock.timer(ms, () =>
      this.#replace(
        new SqlError('57014', `canceling statement: it took more than ${this.#limits.timeMs} ms; narrow it`),
      ),
    )
  }

  #start(): Worker {
    const thread = startThread(new URL('./query-thread.ts', import.meta.url), {
      name: 'queries',
      workerData: { memoryMb: this.#limits.memoryMb },
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb + spareMb },
    })
    this.started++
    this.#isReady = false
    thread.on('message', (message: FromThread) => this.#receive(thread, message))
    thread.on('error', (error: NodeJS.ErrnoException) => this.#lost(thread, lostBy(error)))
    thread.on('exit', () =>
      this.#lost(thread, new SqlError('58000', 'the thread of queries has ended; send the query again')),
    )
    thread.unref()
    return thread
  }

  #receive(thread: Worker, message: FromThread): void {
    const job = this.#running
    if (thread !== this.#thread) return
    if (message === 'ready') {
      this.#isReady = true
      this.#sinceUs = systemClock.monoUs()
      if (job !== undefined) this.#limit(job.isSettled ? this.#limits.graceMs : job.leftMs)
      return
    }
    if (job?.id !== message.id) return
    this.#deadline?.cancel()
    job.leftMs = Math.max(1, job.leftMs - (systemClock.monoUs() - this.#sinceUs) / 1000)
    if ('answer' in message || 'error' in message) {
      job.settle('answer' in message ? message : { error: errorOf(message.error) })
      this.#end(message.isSpent)
    } else if (job.isSettled) this.#end(false)
    else void this.#load(job, message.missing)
  }

  async #load(job: Job, wanted: Wanted): Promise<void> {
    try {
      await job.asker.load(wanted, (load, isLast) => {
        if (!job.isSettled) this.#post({ id: job.id, load, isLast }, isLast)
      })
    } catch (error) {
      job.settle({ error })
    }
    // The thread waits for what will not come.
    if (job.isSettled && this.#running === job) this.#end(false)
  }

  /** The present job is over. */
  #end(isSpent: boolean): void {
    this.#deadline?.cancel()
    this.#running = undefined
    if (isSpent) this.#replace(undefined)
    else this.#next()
  }

  #cancel(job: Job, message: string): void {
    job.settle({ error: new SqlError('57014', message) })
    if (this.#running === job) {
      if (this.#isReady && job.leftMs > this.#limits.graceMs) this.#limit(this.#limits.graceMs)
      return
    }
    const { user } = job.asker
    const jobs = this.#waiting.get(user)?.filter((each) => each !== job) ?? []
    if (jobs.length > 0) this.#waiting.set(user, jobs)
    else this.#waiting.delete(user)
  }

  /** Ends the thread. @param error of the job that it had. */
  #replace(error: unknown): void {
    const thread = this.#thread
    if (thread === undefined) return
    void thread.terminate()
    this.#lost(thread, error)
  }

  #lost(thread: Worker, error: unknown): void {
    if (thread !== this.#thread) return
    this.#thread = undefined
    this.#deadline?.cancel()
    this.#running?.settle({ error })
    this.#running = undefined
    this.#next()
  }
}

function lostBy(error: NodeJS.ErrnoException): Error {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return outOfMemory()
  return new Error(`the thread of queries has failed: ${describe(error)}`, { cause: error })
}

function errorOf(error: SentError): Error {
  if ('fault' in error) return new Error(error.fault)
  return new SqlError(error.sqlState, error.message, error.details)
}
