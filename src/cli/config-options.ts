/** Settings of a node as flags, and the configuration that they make with the environment and the file. */
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { describe, FahaoError } from '../base/errors.ts'
import { defaultConfigFile, type LoadedConfig, loadConfig } from '../node/config.ts'
import { type Setting, type SettingKey, settings } from '../node/config-schema.ts'

/** More than these stand in the meaning of a flag: the column of flags leaves room for it on any terminal. */
const wordsShown = 3

/** Gives `command` --config and a flag for each setting, or for those of `keys`. */
export function addConfigOptions(command: Command, keys?: readonly SettingKey[]): Command {
  command.addOption(
    new Option(
      '--config <FILE>',
      `settings and generators in YAML (default ${defaultConfigFile}, if it is there)`,
    ).helpGroup('Basics:'),
  )
  for (const setting of settings) {
    if (keys === undefined || keys.includes(setting.key)) command.addOption(optionOf(setting))
  }
  return command
}

/** The configuration by `command`'s flags, the environment and the file. Throws CONFIG. */
export function configOf(command: Command): LoadedConfig {
  const values = command.opts() as Record<string, string | boolean | string[] | undefined>
  const flags = Object.fromEntries(
    command.options.map((option) => [option.long!.replace(/^--/, ''), values[option.attributeName()]]),
  )
  return loadConfig({ flags, env: process.env, readFile })
}

function optionOf({ name, meaning, type, defaultText, group }: Setting): Option {
  const words = type.takes?.split('|') ?? []
  const long = words.length > wordsShown
  const value = type.takes === undefined ? '' : ` <${long ? 'WORD' : type.takes}>`
  const list = long ? `: ${words.join(', ')}` : ''
  const shown = defaultText === '' || type.takes === undefined ? '' : ` (default ${defaultText})`
  const option = new Option(`--${name}${value}`, meaning + list + shown).helpGroup(`${group}:`)
  if (!type.list) return option
  return option.argParser((given: string, before: string[] | undefined) => [...(before ?? []), given])
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new FahaoError('CONFIG', `the config file ${path} cannot be read: ${describe(error)}`)
  }
}
