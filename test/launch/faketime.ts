/** The clock of a real process, moved by hand while it runs. */
import { existsSync, globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from './lifetime.ts'
import { temporaryFolder } from './places.ts'

/** A wall clock for processes: start them with `env`, then move it. */
export type MovableClock = {
  readonly env: Readonly<Record<string, string>>
  /** In libfaketime's words: `+1h`, `-3600`, `+1y` shift it, `2030-01-01 00:00:00` freezes it there. */
  set(specification: string): void
}

/** A wall clock that starts unmoved. The monotonic clock stays real: without that, Node's timers freeze. */
export function movableClock(lifetime: Lifetime): MovableClock {
  const file = join(temporaryFolder(lifetime), 'clock')
  const set = (specification: string) => {
    // A rename, so that no reader gets half a line.
    writeFileSync(`${file}.new`, `${specification}\n`)
    renameSync(`${file}.new`, file)
  }
  set('+0')
  const env = {
    LD_PRELOAD: libraryPath(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_NO_CACHE: '1',
  }
  return { env, set }
}

function libraryPath(): string {
  const path = globSync('/usr/lib/*/faketime/libfaketime.so.1').find((each) => existsSync(each))
  if (path) return path
  throw new Error('libfaketime is missing: apt-get install faketime (as root, npm test does it by itself)')
}
