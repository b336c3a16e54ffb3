import type { Command } from 'commander'
import { settingsText } from '../../node/config.ts'
import { settings } from '../../node/config-schema.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { print, printJson, table } from '../terminal.ts'

/** `fahao config` */
export function addConfig(program: Command): void {
  const command = program
    .command('config')
    .summary('show every setting, and where it comes from')
    .description(
      'Shows what `serve` with the same flags would run with: every setting, its value and its source. Flags go before environment variables (FAHAO_LEAD for --lead), these before the file, the file before defaults.',
    )
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command).action((options: { json?: true }) => {
    const { config, sources } = configOf(command)
    const values = new Map(settingsText(config))
    const rows = settings.map(({ key, name }) => ({ name, value: values.get(name)!, source: sources[key] }))
    const generators = config.generators.map(([name]) => name)
    if (options.json) return printJson({ settings: rows, generators })
    print(
      ...table(
        ['SETTING', 'VALUE', 'SOURCE'],
        rows.map(({ name, value, source }) => [name, value, source]),
      ),
    )
    if (generators.length > 0) print('', `generators of the file: ${generators.join(', ')}`)
  })
}
