/** A process on a store: `child.ts URL WORK …`. Prints `opened`, then what it was answered, each line at once. */
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine } from '../../src/engine/engine.ts'
import { openAnyEngine } from '../../src/legacy/open.ts'
import { engineOptions } from './store-under-test.ts'

const [url = '', work = '', argument = ''] = process.argv.slice(2)
const mine = { incarnation: 1n }

/** A pipe takes a short line whole, and keeps it when the process is killed. */
function print(line: string): void {
  writeSync(1, `${line}\n`)
}

async function reserve(engine: Engine, counter: string, size: bigint): Promise<void> {
  const { start, end } = await engine.reserve(counter, { size, ...mine })
  print(`range ${start} ${end}`)
}

/** Each does one kind of work. */
const works: Readonly<Record<string, (engine: Engine) => Promise<void>>> = {
  /** Reserves from a counter until it is killed. */
  async reserve(engine) {
    for (let size = 1n; ; size = (size % 9n) + 1n) {
      await Promise.all([reserve(engine, argument, size), reserve(engine, argument, 1n)])
    }
  },
  /** Tries to create records that others try to create as well. */
  async create(engine) {
    for (let index = 0; index < Number(argument); index++) {
      const key = `race/${index}`
      if (await engine.write(key, String(process.pid), undefined)) print(`won ${key}`)
    }
    await engine.close()
  },
  /** Asks for ownership until it has it, and keeps it. */
  async own(engine) {
    let before = ''
    for (; before !== 'owner'; await pause(10)) {
      const { state } = await engine.ownership()
      if (state !== before) print(state)
      before = state
    }
    setInterval(() => {}, 1000)
  },
  /** Watches, does nothing else, and does not close. */
  async idle(engine) {
    await engine.watch('', () => {})
  },
  /** Reserves once, and does not close. */
  async once(engine) {
    await reserve(engine, 'once', 1n)
  },
}

const engine = await openAnyEngine(url, engineOptions())
print('opened')
await works[work]!(engine)
