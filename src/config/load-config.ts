/**
 * The configuration of a node. For each setting a flag goes before the environment, the environment before the file,
 * the file before the default.
 */
import { describe, FahaoError } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { type GeneratorInput, parseOptions } from '../catalogue/generator-options.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import {
  type Config,
  type Setting,
  type Settings,
  type Sources,
  settings,
  settingsSchema,
  variableOf,
} from './config-schema.ts'
import { configError } from './config-values.ts'
import { refuseIncompleteProxy, refuseIncompleteTls } from './incomplete-settings.ts'

/** The sources of a configuration. */
export type ConfigInputs = {
  /** By name of the setting, and `config`: the path of the file. */
  readonly flags?: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Text of a file; undefined if it does not exist. */
  readonly readFile?: (path: string) => string | undefined
}

/** A configuration and the source of each value. */
export type LoadedConfig = { readonly config: Config; readonly sources: Sources }

/** The file that is read by default, if it exists. */
export const defaultConfigFile = 'fahao.yaml'

/** The password of the first administrator. It is no setting, so that no list of settings shows it. */
export const adminPasswordVariable = 'FAHAO_ADMIN_PASSWORD'

const leadDefaultMs = { pooled: 600_000, fixed: 120_000 }
const known = settings.map(({ name }) => name)
/** Variables that the command line reads and that are no settings. */
const otherVariables = [
  ...[
    'config',
    'metrics',
    'url',
    'ca',
    'cert',
    'key',
    'user',
    'password',
    'token',
    'token-file',
    'database',
  ].map(variableOf),
  adminPasswordVariable,
]

/** Reads and checks a configuration. Throws CONFIG with every invalid value and its position. */
export function loadConfig(inputs: ConfigInputs = {}): LoadedConfig {
  const env = inputs.env ?? {}
  refuseMisspelled(env)
  const file = readNamedFile(inputs)
  refuseUnknownKeys(file)
  const found = settings.map((setting) => ({ setting, ...find(setting, inputs.flags ?? {}, env, file) }))
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const { setting, given, where } of found) {
    const read = settingsSchema.shape[setting.key].safeParse(given)
    if (read.success) values[setting.key] = read.data
    else problems.push(`${where}: ${read.error.issues[0]!.message}`)
  }
  if (problems.length > 0) throw configError(problems.join('; '))
  const sources = Object.fromEntries(found.map(({ setting, source }) => [setting.key, source])) as Sources
  const config = completed(values as Settings, readGenerators(file))
  refuseIncompleteTls(config, sources)
  refuseIncompleteProxy(config, sources)
  return Object.freeze({ config, sources: Object.freeze(sources) })
}

/** Every setting in its written form, in the order of help; for CONFIG GET. */
export function settingsText(config: Config): [name: string, value: string][] {
  return settings.map(({ key, name, type }) => [name, type.show(config[key])])
}

/** The given value, and its source. `where`: for messages, the source, and the setting unless the source names it. */
function find(
  { name, variable }: Setting,
  flags: NonNullable<ConfigInputs['flags']>,
  env: NonNullable<ConfigInputs['env']>,
  file: ConfigFile,
) {
  const named = (given: unknown, source: string, where = source) => ({ given, source, where })
  if (flags[name] !== undefined) return named(flags[name], `--${name}`)
  // An empty variable counts as unset, as Compose files and unit files mean it.
  if (env[variable]) return named(env[variable], variable)
  const written = file.settings.get(name)
  if (written) return named(written.value, written.position, `${written.position}: ${name}`)
  return named(undefined, 'default')
}

function readNamedFile({ flags, env, readFile }: ConfigInputs): ConfigFile {
  const named = flags?.config ?? (env?.[variableOf('config')] || undefined)
  const path = String(named ?? defaultConfigFile)
  const text = readFile?.(path)
  if (text !== undefined) return readConfigFile(path, text)
  if (named === undefined) return { settings: new Map(), generators: new Map() }
  throw configError(`there is no config file ${path}; name one that exists with --config`)
}

function refuseUnknownKeys(file: ConfigFile): void {
  for (const [name, { position }] of file.settings) {
    if (known.includes(name)) continue
    const meant = nearest(name, [...known, 'generators'])
    const hint = meant ? `did you mean '${meant}'?` : '`fahao config` lists all settings'
    throw configError(`${position}: there is no setting '${name}'; ${hint}`)
  }
}

/**
 * Refuses variables that are nearly a setting's name: they are likely misspelled. Other variables are accepted:
 * Kubernetes sets FAHAO_SERVICE_HOST and similar ones for a service called fahao.
 */
function refuseMisspelled(env: NonNullable<ConfigInputs['env']>): void {
  const variables = [...settings.map(({ variable }) => variable), ...otherVariables]
  for (const name of Object.keys(env)) {
    if (!name.startsWith('FAHAO_') || variables.includes(name)) continue
    // Without the prefix, which all of them share.
    const [given, ...known] = [name, ...variables].map((each) => each.slice('FAHAO_'.length))
    const meant = nearest(given!, known)
    if (meant) throw configError(`${name} is no setting; did you mean FAHAO_${meant}?`)
  }
}

function readGenerators(file: ConfigFile): Config['generators'] {
  return [...file.generators].map(([name, { value, position }]) => {
    try {
      parseOptions(value)
    } catch (error) {
      const reason = error instanceof FahaoError ? error.message : describe(error)
      throw configError(`${position}: generator '${name}': ${reason}`)
    }
    return Object.freeze([name, Object.freeze(value as GeneratorInput)] as const)
  })
}

function completed(values: Settings, generators: Config['generators']): Config {
  const pooled = values.workerId.by === 'pool'
  const leadMs = values.leadMs ?? (pooled ? leadDefaultMs.pooled : leadDefaultMs.fixed)
  for (const value of Object.values(values)) if (typeof value === 'object') Object.freeze(value)
  return Object.freeze({ ...values, leadMs, generators: Object.freeze(generators) })
}
