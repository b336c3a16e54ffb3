/**
 * A process that reserves from a store without pause, whatever it is answered: `sqlite-process.ts URL`. Prints
 * `range START END`, `error CODE MESSAGE` and `event MESSAGE`, each line at once, and on SIGTERM `lag MS`: for how
 * long its event loop stood still at most.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { hasCode } from '../../src/base/errors.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { openEngine } from '../../src/engine/open.ts'

/** Waits while the reader is busy; what has been written outlives the process. */
function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function reserveOnce(engine: Engine): Promise<void> {
  try {
    const { start, end } = await engine.reserve('a', { size: 5n, incarnation: 1n })
    print(`range ${start} ${end}`)
  } catch (error) {
    if (!hasCode(error, 'UNKNOWN') && !hasCode(error, 'UNAVAILABLE')) throw error
    print(`error ${error.code} ${error.message}`)
    await pause(5)
  }
}

const engine = await openEngine(process.argv[2] ?? '', {
  clock: systemClock,
  callTimeoutMs: 10_000,
  onEvent: ({ message }) => print(`event ${message}`),
})
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
process.once('SIGTERM', () => {
  print(`lag ${Math.round(delay.max / 1e6)}`)
  process.exit(0)
})
print('opened')
for (;;) await reserveOnce(engine)
