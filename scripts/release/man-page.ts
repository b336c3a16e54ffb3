/** The manual page fahao(1), in roff, from the commands of the program, its settings and its exit codes. */
import type { Command, Option } from 'commander'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { program } from '../../src/cli/main.ts'
import { settings } from '../../src/config/config-schema.ts'
import { adminPasswordVariable, defaultConfigFile } from '../../src/config/load-config.ts'

/** With how many verbs an option moves to a section that describes it once. */
const sharedFrom = 4

const meanings = new Map(settings.map(({ name, meaning }) => [`--${name}`, meaning]))

/** The page of this version. `date` is that of the release: `2026-11-27`. */
export async function manPage(version: string, date: string): Promise<string> {
  const root = await program(() => true)
  const commands = root.commands.flatMap((verb) => [verb, ...verb.commands])
  const shared = sharedOptions(commands)
  const sections: Readonly<Record<string, readonly string[]>> = {
    NAME: [escaped('fahao - unique 64-bit ids, handed out')],
    SYNOPSIS: [`${bold('fahao')} ${italic('verb')} [${italic('options')}] [${italic('arguments')}]`],
    DESCRIPTION: paragraphs(root.description()),
    VERBS: commands.flatMap((command) => verbText(command, shared)),
    OPTIONS: ['Several verbs have these options.', ...[...shared.values()].flatMap(optionText)],
    SETTINGS: [
      escaped(
        'The settings of a server. Each is a flag of serve and config, an environment variable, and a key of the file of --config, where it is named as the flag is, without dashes. A flag goes before the variable, and the variable before the file.',
      ),
      ...settings.flatMap(({ name, variable, meaning, type, defaultText, group }, at) => [
        ...(settings[at - 1]?.group === group ? [] : [`.SS ${quoted(group)}`]),
        ...tagged(
          `${bold(`--${name}`)}${type.takes === undefined ? '' : ` ${italic(type.takes)}`}, ${bold(variable)}`,
          `${meaning}${defaultText === '' ? '' : ` (default ${defaultText})`}`,
        ),
      ]),
    ],
    ENVIRONMENT: [
      'The variables of settings, and:',
      ...[...shared.values()].flatMap(({ envVar, long }) =>
        envVar === undefined ? [] : tagged(bold(envVar), `in place of ${long}`),
      ),
      ...tagged(bold('FAHAO_PASSWORD'), 'the password of the user of --user'),
      ...tagged(bold('FAHAO_TOKEN'), 'a token, in place of a user'),
      ...tagged(bold(adminPasswordVariable), 'the password of the first administrator of a new store'),
    ],
    FILES: [
      ...tagged(bold(defaultConfigFile), 'settings and generators, in the folder in which a server starts'),
      ...tagged(bold('/etc/fahao/fahao.yaml'), 'those of the service of the Debian package'),
      ...tagged(bold('/var/lib/fahao/fahao.db'), 'the store of that service'),
    ],
    'EXIT STATUS': Object.values(exitCodes).flatMap(({ code, meaning }) => tagged(bold(`${code}`), meaning)),
    EXAMPLES: examplesOf(root),
  }
  return [
    // No flag is broken at its hyphens.
    `.TH FAHAO 1 ${quoted(date)} ${quoted(`fahao ${version}`)} "User Commands"`,
    // No flag is broken at its hyphens.
    '.nh',
    ...Object.entries(sections).flatMap(([title, lines]) => [`.SH ${quoted(title)}`, ...lines]),
    '',
  ].join('\n')
}

/** A verb, with the options that few verbs have. */
function verbText(command: Command, shared: ReadonlyMap<string, Option>): string[] {
  const options = optionsOf(command)
  const own = options.filter((option) => !isSetting(option) && !shared.has(keyOf(option)))
  const set = options.filter(isSetting)
  const others = [
    ...options
      .filter((option) => shared.has(keyOf(option)) && option.long !== '--help')
      .map(({ long }) => long!),
    ...(set.length === settings.length ? ['all settings'] : set.map(({ long }) => long!)),
  ]
  return [
    `.SS ${quoted(`fahao ${pathOf(command)} ${command.usage()}`)}`,
    ...paragraphs(command.description()),
    ...own.flatMap(optionText),
    ...(others.length === 0 ? [] : ['.PP', escaped(`Also, as described below: ${others.join(', ')}.`)]),
    ...examplesOf(command),
  ]
}

/** The options that many verbs have, each by its key. */
function sharedOptions(commands: readonly Command[]): Map<string, Option> {
  const all = commands.flatMap(optionsOf).filter((option) => !isSetting(option))
  const groups = [...Map.groupBy(all, keyOf)].filter(([, same]) => same.length >= sharedFrom)
  return new Map(groups.map(([key, [option]]) => [key, option!]))
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command)
}

function isSetting({ long, description }: Option): boolean {
  const meaning = meanings.get(long!)
  return meaning !== undefined && description.startsWith(meaning)
}

function keyOf({ flags, description }: Option): string {
  return `${flags}\n${description}`
}

function pathOf(command: Command): string {
  return command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name()
}

function optionText({ flags, description, defaultValue }: Option): string[] {
  const [, names = flags, value = ''] = /^(.*?)(?: (<.*>))?$/.exec(flags) ?? []
  const shown = value === '' ? '' : ` ${italic(value.slice(1, -1))}`
  const fallback = typeof defaultValue === 'string' ? ` (default ${defaultValue})` : ''
  return tagged(bold(names) + shown, description + fallback)
}

/** The examples that the help of a command ends with. */
function examplesOf(command: Command): string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  const [, examples] = /^Examples?:\n((?:.+(?:\n|$))+)/m.exec(help) ?? []
  return examples === undefined ? [] : ['.PP', '.EX', ...examples.trimEnd().split('\n').map(escaped), '.EE']
}

function paragraphs(text: string): string[] {
  return text.split(/\n+/).flatMap((paragraph, at) => [...(at === 0 ? [] : ['.PP']), escaped(paragraph)])
}

function tagged(tag: string, text: string): string[] {
  return ['.TP', tag, escaped(text)]
}

function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`
}

function italic(text: string): string {
  return `\\fI${escaped(text)}\\fR`
}

/** An argument of a request. */
function quoted(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`
}

/** Text as roff prints it, on any terminal: no backslash is an escape, no hyphen a dash, and no line a request. */
function escaped(text: string): string {
  return text
    .replaceAll('…', '...')
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(/^\./, '\\&.')
}
