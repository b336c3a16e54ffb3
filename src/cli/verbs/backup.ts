import type { Command } from 'commander'
import { addConfigOptions, configOf } from '../config-options.ts'
import { copyLines, storeFile } from '../copies.ts'
import { print, printJson } from '../terminal.ts'

/** `fahao backup` */
export function addBackup(program: Command): void {
  const command = program
    .command('backup <file>')
    .summary('copy the store, while servers use it')
    .description(
      'Copies the SQLite store of --engine to a new file, at one consistent moment, while servers go on using it. Run it on the machine that has the store.',
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
      const { backupSqlite } = await import('../../engine/sqlite/backup.ts')
      const summary = backupSqlite(storeFile(configOf(command).config), file)
      if (options.json) printJson(summary)
      else print(...copyLines(summary))
    })
}
