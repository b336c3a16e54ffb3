/** Settings of a node as flags, and the configuration from flags, environment and file. */
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { describe, FahaoError } from '../base/errors.ts'
import { type Setting, type SettingKey, settings } from '../config/config-schema.ts'
import { defaultConfigFile, type LoadedConfig, loadConfig } from '../config/load-config.ts'
import { repeated } from './repeatable-options.ts'

/** Longer lists of words go into the description of a flag, so that the column of flags stays narrow. */
const wordsShown = 3

/** Adds --config to `command`, and a flag for each setting or for those of `keys`. */
export function addConfigOptions(command: Command, keys?: readonly SettingKey[]): Command {
  command.addOption(
    new Option(
      '--config <FILE>',
      `settings and generators in YAML (default ${defaultConfigFile}, if it exists)`,
    ).helpGroup('Basics:'),
  )
  for (const setting of settings) {
    if (keys === undefined || keys.includes(setting.key)) command.addOption(optionOf(setting))
  }
  return command
}

/**
 * The configuration from the flags of `command`, the environment and the file. `more`: values of settings that have been
 * given in another way. Throws CONFIG.
 */
export function configOf(
  command: Command,
  more: Readonly<Record<string, string | readonly string[] | undefined>> = {},
): LoadedConfig {
  const values = command.opts() as Record<string, string | boolean | string[] | undefined>
  const flags = Object.fromEntries([
    ...command.options.map((option) => [option.long!.replace(/^--/, ''), values[option.attributeName()]]),
    ...Object.entries(more).filter(([, value]) => value !== undefined),
  ])
  return loadConfig({ flags, env: process.env, readFile })
}

function optionOf({ name, meaning, type, defaultText, group }: Setting): Option {
  const words = type.takes?.split('|') ?? []
  const long = words.length > wordsShown
  const value = type.takes === undefined ? '' : ` <${long ? 'WORD' : type.takes}>`
  const list = long ? `: ${words.join(', ')}` : ''
  const shown = defaultText === '' || type.takes === undefined ? '' : ` (default ${defaultText})`
  const option = new Option(`--${name}${value}`, meaning + list + shown).helpGroup(`${group}:`)
  return type.list ? repeated(option) : option
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new FahaoError('CONFIG', `the config file ${path} cannot be read: ${describe(error)}`)
  }
}
