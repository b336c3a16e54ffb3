/**
 * `serve --processes N`: so many nodes, each in a process of its own, kept running.
 *
 * Invariants
 *  1. A place has one process at most: the next one is started after the one before has ended.
 *  2. A process is told to stop by its channel, which closes: also where this one falls. That happens once, and is not
 *     taken for a second signal, which would end a stop at once.
 *  3. What has never served is not tried again: what is wrong is said once, and the exit code tells of it.
 *  4. Once a stop was asked for nothing is started any more, and this process ends after the last of them; a process
 *     that is not through with its stop when its time is up is killed.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Logger } from 'pino'
import { addressText } from '../base/address.ts'
import { stayAlive, systemClock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { Config } from '../node/config-schema.ts'
import { configsOf } from '../node/processes.ts'
import { ProcessEnded } from './exit-codes.ts'
import { openLog } from './log.ts'
import { crashOnBugs, stopAsked, stopTimeoutMs } from './signals.ts'

/** From the end of a process to the start of the next. It doubles while processes live for less than the longest. */
const restartMs = { shortest: 1000, longest: 30_000 }
/** For a process to end itself when its stop has taken too long, before it is killed. */
const graceMs = 1000

/** Runs the nodes until a signal says stop; resolves when all have ended. Rejects when one of them cannot start. */
export async function runProcesses(config: Config): Promise<void> {
  const log = await openLog(config.logLevel)
  crashOnBugs(log)
  const places = configsOf(config).map((own) => new Place(own, log))
  const killAll = () => {
    for (const place of places) place.kill()
  }
  const stop = stopAsked(log, killAll)
  const alive = stayAlive()
  let failure: ProcessEnded | undefined
  try {
    const isUp = startAll(places).then(() => true)
    if (await Promise.race([isUp, stop.then(() => false)])) {
      log.info(`${places.length} nodes are ready: RESP on ${places.map(({ address }) => address).join(', ')}`)
    }
    log.info(`${await stop}: stopping ${places.length} processes`)
  } finally {
    const deadline = systemClock.timer(stopTimeoutMs(config) + graceMs, killAll)
    const failures = await Promise.all(places.map((place) => place.stop()))
    failure = failures.find((each) => each !== undefined)
    deadline.cancel()
    alive.cancel()
  }
  if (failure) throw failure
  log.info('stopped')
}

/** The first one alone: it records what is not there yet, and what is wrong with the configuration is said once. */
async function startAll([first, ...others]: readonly Place[]): Promise<void> {
  await first!.start()
  await Promise.all(others.map((place) => place.start()))
}

/** How long to wait, in ms, after a life of `livedMs` that had been started after a pause of `beforeMs` (0: the first). */
export function restartPauseMs(beforeMs: number, livedMs: number): number {
  const longerMs = livedMs > restartMs.longest ? 0 : 2 * beforeMs
  return Math.min(Math.max(longerMs, restartMs.shortest), restartMs.longest)
}

/** How a process ended, or what kept it from starting. */
type Exit = { readonly code: number | null; readonly how: string }

/** One of the nodes, through all its lives. */
class Place {
  readonly address: string
  readonly #config: Config
  readonly #log: Logger
  #child: ChildProcess | undefined
  #ended: Promise<Exit> | undefined
  /** In this life. */
  #serves = false
  /** In any. */
  #hasServed = false
  #isStopping = false
  #pauseMs = 0

  constructor(config: Config, log: Logger) {
    this.address = addressText(config.resp!)
    this.#config = config
    this.#log = log
  }

  /** Resolves when it serves for the first time; rejects with ProcessEnded when it ended before. */
  start(): Promise<void> {
    if (this.#isStopping) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const startedUs = systemClock.monoUs()
      this.#serves = false
      this.#ended = this.#live(resolve).then((exit) => {
        this.#child = undefined
        if (this.#isStopping) resolve()
        else if (this.#hasServed) this.#startAgain(exit, startedUs)
        else reject(this.#failure('before it served', exit))
        return exit
      })
    })
  }

  /** Resolves when its process has ended; to a failure when it did so otherwise than it was asked to. */
  async stop(): Promise<ProcessEnded | undefined> {
    this.#isStopping = true
    if (this.#child === undefined) return undefined
    if (this.#child.connected) this.#child.disconnect()
    // One that still starts may be waiting for the engine, and looks at its channel later.
    if (!this.#serves) this.#child.kill('SIGTERM')
    const exit = await this.#ended!
    return exit.code === 0 || !this.#serves ? undefined : this.#failure('while it stopped', exit)
  }

  /** Ends its process at once. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** A process from its start to its end. */
  #live(onServing: () => void): Promise<Exit> {
    return new Promise((resolve) => {
      try {
        const child = fork(entry(), { serialization: 'advanced' })
        child.on('error', (error) => {
          if (child.pid === undefined) resolve({ code: null, how: describe(error) })
        })
        child.once('exit', (code, signal) => resolve({ code, how: signal ?? `exit code ${code}` }))
        child.once('message', () => {
          this.#serves = true
          this.#hasServed = true
          onServing()
        })
        if (child.pid === undefined) return
        this.#child = child
        // It may have ended already, and then its end says all.
        child.send(this.#config, () => {})
      } catch (error) {
        resolve({ code: null, how: describe(error) })
      }
    })
  }

  #startAgain({ how }: Exit, startedUs: number): void {
    this.#pauseMs = restartPauseMs(this.#pauseMs, (systemClock.monoUs() - startedUs) / 1000)
    this.#log.error(`${this.#name} has ended (${how}), and is started again in ${this.#pauseMs / 1000} s`)
    systemClock.timer(this.#pauseMs, () => void this.start())
  }

  get #name(): string {
    return `the process of ${this.address}`
  }

  #failure(when: string, { code, how }: Exit): ProcessEnded {
    return new ProcessEnded(`${this.#name} ended ${when} (${how})`, code)
  }
}

function entry(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './supervised.ts' : './supervised.js', import.meta.url)
}
