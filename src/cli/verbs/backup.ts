import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { type Revived, restoredAccess } from '../../auth/restored-access.ts'
import { systemClock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import type { Config } from '../../config/config-schema.ts'
import { repairAll } from '../../engine/advance-rules.ts'
import { openEngine } from '../../engine/open.ts'
import type { CopySummary } from '../../engine/sqlite/backup.ts'
import { momentText } from '../../ids/moment.ts'
import { startThread } from '../../installation/threads.ts'
import { repairsOf } from '../../recovery/repairs.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { addYes, type Confirmed, confirm } from '../confirmation.ts'
import type { CopyShown } from '../copy-progress-thread.ts'
import { UsageError, wholeNumber } from '../exit-codes.ts'
import { recordInStore } from '../store-audit.ts'
import { fields, grouped, printAnswer } from '../terminal.ts'

/** `fahao backup` */
export function addBackup(command: Command): void {
  command
    .description(
      'Copies the SQLite store of --engine to a new file, as a consistent snapshot, while servers use it. Run it on the machine that has the store.',
    )
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command, ['engine'])
    .addHelpText(
      'after',
      `
Examples:
  fahao backup fahao-2026-11-21.db
  fahao backup copy.db --engine sqlite:/var/lib/fahao/fahao.db`,
    )
    .action(async (file: string, options: { json?: true }) => {
      const { backupSqlite, draftOf } = await import('../../engine/sqlite/backup.ts')
      const store = storeFile(configOf(command).config)
      const summary = await showing(store, draftOf(file), () => backupSqlite(store, file))
      printAnswer(options, summary, copyLines(summary))
    })
}

/** `fahao restore` */
export function addRestore(command: Command): void {
  command
    .description(
      'Puts a copy in the place of the SQLite store of --engine, with every bound raised by --skip. Stop its servers first. A skip that is too small issues ids a second time: take the peak rate times the age of the copy, and then some; what is skipped is only a gap.',
    )
    .requiredOption(
      '--skip <N>',
      'more ids than any generator can have reserved since the copy was made: those issued, and one largest refill for each crash',
    )
    .option('--revoke-tokens', 'revoke every token of the copy, also those that were not revoked since')
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(addYes(command), ['engine'])
    .addHelpText(
      'after',
      `
It lists what the copy brings back: users that were removed, passwords and
permissions that were changed, tokens that were revoked.

Example:
  fahao restore fahao-2026-11-21.db --skip 100000000   a day at 1,000 ids per second, and some more`,
    )
    .action(async (file: string, options: Confirmed & { skip: string; revokeTokens?: true; json?: true }) => {
      const { config } = configOf(command)
      const store = storeFile(config)
      const { draftOf, recordsOfStore, restoreSqlite } = await import('../../engine/sqlite/backup.ts')
      const skip = wholeNumber(options.skip, '--skip')
      if (existsSync(store)) await confirm(options, `the store ${store} is replaced by ${file}`)
      // As `serve` does: the folder of the store is created if it is missing.
      mkdirSync(dirname(store), { recursive: true })
      const nowUs = systemClock.wallUs()
      const repair = repairsOf(nowUs, skip, config.leadMs * 1000)
      const areRevoked = options.revokeTokens === true
      const access = restoredAccess(recordsOfStore(store), Math.floor(nowUs / 1000), areRevoked)
      const summary = await showing(file, draftOf(store), () =>
        restoreSqlite(file, store, {
          skip,
          clock: systemClock,
          repair: repairAll(repair, access.repair),
        }),
      )
      await recordRestore(config, areRevoked ? `skip ${skip}, all tokens revoked` : `skip ${skip}`)
      printAnswer(options, { ...summary, revived: access.revived() }, [
        ...copyLines(summary),
        `every bound was raised by ${grouped(skip)}`,
        ...revivedLines(access.revived(), areRevoked),
      ])
    })
}

/**
 * Copies `from`, which keeps this thread, while another thread shows on a terminal how `draft` grows. Resolves to what `copy` returns.
 */
async function showing<Result>(from: string, draft: string, copy: () => Result): Promise<Result> {
  if (!process.stderr.isTTY || !existsSync(from)) return copy()
  const workerData: CopyShown = { from, draft }
  const thread = startThread(new URL('../copy-progress-thread.ts', import.meta.url), { workerData })
  // A copy is made also if its progress cannot be shown.
  thread.on('error', () => {})
  await Promise.race([once(thread, 'message'), once(thread, 'exit')])
  try {
    return copy()
  } finally {
    await thread.terminate()
    process.stderr.write('\r\x1b[K')
  }
}

/** Records the restore in the store that it has made. */
async function recordRestore(
  { engine: url, callTimeoutMs, unsafeEngine }: Config,
  detail: string,
): Promise<void> {
  const say = (message: string) => console.error(`warn: the audit trail lacks this restore: ${message}`)
  try {
    const engine = await openEngine(url, {
      clock: systemClock,
      callTimeoutMs,
      unsafe: unsafeEngine,
      newStore: 'refuse',
      onEvent: ({ level, message }) => level === 'error' && say(message),
    })
    await recordInStore(engine, 'restore', ['store'], detail).finally(() => engine.close())
  } catch (error) {
    say(describe(error))
  }
}

/** The file of the configured store. Throws UsageError for engines that keep none. */
function storeFile({ engine }: Config): string {
  const file = /^sqlite:(.+)$/.exec(engine)?.[1]
  if (file !== undefined) return file
  throw new UsageError(
    `only SQLite stores are copied by file, and the engine is ${engine}; use --engine sqlite:FILE`,
  )
}

/** What was copied, line by line. */
function copyLines({ file, bytes, counters, records, lastWriteUs }: CopySummary): string[] {
  return fields([
    ['file', file],
    ['bytes', grouped(bytes)],
    ['counters', grouped(counters)],
    ['records', grouped(records)],
    ['newest write', lastWriteUs === 0 ? 'none' : momentText(BigInt(lastWriteUs))],
  ])
}

/** The lines, each with what to do; none if nothing comes back. `areRevoked`: all tokens of the copy were revoked. */
export function revivedLines(revived: Revived, areRevoked: boolean): string[] {
  const { isCompared, removedUsers, passwords, permissions, tokens } = revived
  const lines = isCompared
    ? [
        ...line(removedUsers, 'users that are no more can log in again; remove them: fahao user remove NAME'),
        ...line(passwords, 'users have their earlier passwords again; set new ones: fahao user set NAME'),
        ...line(permissions, 'users have their earlier permissions again; check them: fahao user list'),
      ]
    : line(
        removedUsers,
        'the replaced store cannot be read, so these users may have been removed or changed since the copy; check them: fahao user list',
      )
  if (areRevoked) return [...lines, 'every token of the copy was revoked']
  const what = isCompared
    ? 'revoked tokens are valid again'
    : 'these tokens are valid, and may have been revoked since the copy'
  return [
    ...lines,
    ...line(tokens, `${what}; revoke them: fahao token revoke ID, or restore with --revoke-tokens`),
  ]
}

function line(names: readonly string[], what: string): string[] {
  return names.length === 0 ? [] : [`${what}: ${names.join(', ')}`]
}
