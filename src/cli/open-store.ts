/** Opens the store of `--engine` for verbs that work without a server. */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import type { Config } from '../config/config-schema.ts'
import type { Engine } from '../engine/engine.ts'
import { openAnyEngine } from '../legacy/open.ts'
import { UsageError } from './exit-codes.ts'

/** Rejects with UsageError if there is no such file, CONFIG, ENGINE. */
export async function openStore({ engine, callTimeoutMs, unsafeEngine }: Config): Promise<Engine> {
  const file = /^sqlite:(.+)$/.exec(engine)?.[1]
  // Opening a missing store would create an empty one.
  if (file !== undefined && !existsSync(file)) throw new UsageError(`there is no store at ${file}`)
  return openAnyEngine(engine, {
    clock: systemClock,
    callTimeoutMs,
    unsafe: unsafeEngine,
    newStore: 'refuse',
    onEvent: ({ level, message }) => level !== 'info' && console.error(`${level}: ${message}`),
  })
}
