import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { repairsOf } from '../../recovery/repairs.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { copyLines, storeFile } from '../copies.ts'
import { UsageError } from '../exit-codes.ts'
import { grouped, print, printJson } from '../terminal.ts'

/** `fahao restore` */
export function addRestore(program: Command): void {
  const command = program
    .command('restore <file>')
    .summary('put a copy in the place of the store')
    .description(
      'Puts a copy in the place of the SQLite store of --engine, with every bound raised by --skip. Stop its servers first. A skip that is too small issues ids a second time: take the peak rate times the age of the copy, and then some; what is skipped is only a gap.',
    )
    .requiredOption(
      '--skip <N>',
      'more ids than any generator can have reserved since the copy was made: those issued, and one largest refill for each crash',
    )
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command, ['engine'])
    .addHelpText(
      'after',
      `
Example:
  fahao restore fahao-2026-11-21.db --skip 100000000   a day at 1,000 ids per second, and some more`,
    )
    .action(async (file: string, options: { skip: string; json?: true }) => {
      const { config } = configOf(command)
      const store = storeFile(config)
      const { restoreSqlite } = await import('../../engine/sqlite/backup.ts')
      const skip = wholeSkip(options.skip)
      // As `serve` does: a store is restored where its folder is gone, too.
      mkdirSync(dirname(store), { recursive: true })
      const summary = restoreSqlite(file, store, {
        skip,
        clock: systemClock,
        mend: repairsOf(systemClock.wallUs(), skip, config.leadMs * 1000),
      })
      if (options.json) printJson(summary)
      else print(...copyLines(summary), `every bound was raised by ${grouped(skip)}`)
    })
}

function wholeSkip(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text)
  throw new UsageError(`--skip '${text}' is no whole number of ids`)
}
