/**
 * `serve --processes N`: so many nodes, each in a process of its own, kept running.
 *
 * Invariants
 *  1. A place has one process at most: the next one is started after the one before has ended.
 *  2. No process outlives this one for longer than it takes to stop: where this one falls, the channel to it closes.
 *  3. What has never served is not tried again: what is wrong is said once, and the exit code tells of it.
 *  4. Once a stop was asked for nothing is started any more, and this process ends after the last of them.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Logger } from 'pino'
import { stayAlive, systemClock, type Timer } from '../base/clock.ts'
import type { Config } from '../node/config.ts'
import { addressText } from '../node/config-values.ts'
import { configsOf } from '../node/processes.ts'
import { ProcessEnded } from './exit-codes.ts'
import { openLog } from './log.ts'
import { crashOnBugs, stopAsked } from './signals.ts'

/** From the end of a process to the start of the next: one that cannot start must not take a core. */
const restartAfterMs = 1000

/** Runs the nodes until a signal says stop; resolves when all have ended. Rejects when one of them cannot start. */
export async function runProcesses(config: Config): Promise<void> {
  const log = await openLog(config.logLevel)
  crashOnBugs(log)
  const places = configsOf(config).map((own) => new Place(own, log))
  const stop = stopAsked(log, () => {
    for (const place of places) place.kill()
  })
  const alive = stayAlive()
  let failure: ProcessEnded | undefined
  try {
    await Promise.race([startAll(places), stop])
    log.info(`${await stop}: stopping ${places.length} processes`)
  } finally {
    const failures = await Promise.all(places.map((place) => place.stop()))
    failure = failures.find((each) => each !== undefined)
    alive.cancel()
  }
  if (failure) throw failure
}

/** The first one alone: it records what is not there yet, and what is wrong with the configuration is said once. */
async function startAll([first, ...others]: readonly Place[]): Promise<void> {
  await first!.start()
  await Promise.all(others.map((place) => place.start()))
}

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** One of the nodes, through all its lives. */
class Place {
  readonly #config: Config
  readonly #name: string
  readonly #log: Logger
  #child: ChildProcess | undefined
  #ended: Promise<Exit> | undefined
  #restart: Timer | undefined
  #hasServed = false
  #isStopping = false

  constructor(config: Config, log: Logger) {
    this.#config = config
    this.#name = `the process of ${addressText(config.resp!)}`
    this.#log = log
  }

  /** Resolves when it serves for the first time; rejects with ProcessEnded when it ended before. */
  start(): Promise<void> {
    if (this.#isStopping) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const child = fork(entry(), { serialization: 'advanced' })
      this.#child = child
      child.once('message', () => {
        this.#hasServed = true
        resolve()
      })
      this.#ended = exitOf(child).then((exit) => {
        this.#child = undefined
        if (this.#isStopping || this.#hasServed) resolve()
        else reject(this.#failure(exit))
        if (this.#isStopping || !this.#hasServed) return exit
        this.#log.error(`${this.#name} has ended (${exitText(exit)}), and is started again`)
        this.#restart = systemClock.timer(restartAfterMs, () => void this.start())
        return exit
      })
      // It may have ended already, and then its end says all.
      child.send(this.#config, () => {})
    })
  }

  /** Resolves when its process has ended; to a failure when it did so otherwise than it was asked to. */
  async stop(): Promise<ProcessEnded | undefined> {
    this.#isStopping = true
    this.#restart?.cancel()
    if (this.#child === undefined) return undefined
    this.#child.kill('SIGTERM')
    const exit = await this.#ended!
    const isAsAsked = exit.code === 0 || exit.signal === 'SIGTERM' || exit.signal === 'SIGINT'
    return isAsAsked ? undefined : this.#failure(exit)
  }

  /** Ends its process at once. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  #failure(exit: Exit): ProcessEnded {
    const when = this.#hasServed ? 'while it stopped' : 'before it served'
    return new ProcessEnded(`${this.#name} ended ${when} (${exitText(exit)})`, exit.code)
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', () => {
      // Never started: the system has no room for another process.
      if (child.pid === undefined) resolve({ code: null, signal: null })
    })
  })
}

function exitText({ code, signal }: Exit): string {
  if (signal !== null) return signal
  return code === null ? 'it could not be started' : `exit code ${code}`
}

function entry(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './process.ts' : './process.js', import.meta.url)
}
