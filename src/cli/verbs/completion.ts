/**
 * Scripts that complete the command line in shells, from the commands of the program. A script contains every word, so that
 * no TAB starts a program.
 */
import { Argument, type Command, type Option } from 'commander'
import { z } from 'zod'
import { generatorOptions } from '../../catalogue/generator-options.ts'
import { hyphenated, settings } from '../../config/config-schema.ts'
import { print } from '../terminal.ts'

/** What can stand for a value: one of some words, a file, or any text (no words). */
type Values = readonly string[] | 'files'
type Word = { readonly name: string; readonly about: string }
/** A flag; one without values is a switch. */
type Flag = Word & { readonly values: Values | undefined }
/** A command that the words of a line lead to; the path of the program itself is empty. */
type Place = {
  readonly path: string
  readonly words: readonly Word[]
  readonly flags: readonly Flag[]
  readonly takesFile: boolean
}

/** The script of each shell, for the verbs and flags of `program`. */
export const completions: Readonly<Record<string, (program: Command) => string>> = {
  bash: (program) => bash(placesOf(program)),
  zsh: (program) => zsh(placesOf(program)),
  fish: (program) => fish(placesOf(program)),
}

/** `fahao completion` */
export function addCompletion(command: Command): void {
  command
    .description('Prints a script that completes verbs, flags and their values in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completions)))
    .addHelpText(
      'after',
      `
Examples:
  fahao completion bash > ~/.local/share/bash-completion/completions/fahao
  fahao completion zsh > ~/.zfunc/_fahao       in a folder of $fpath
  fahao completion fish > ~/.config/fish/completions/fahao.fish`,
    )
    .action((shell: string) => print(completions[shell]!(command.parent!).trimEnd()))
}

/** The values that records know of a flag, written as a placeholder is: `auto|on|off`. */
const known = new Map<string, string | undefined>([
  ...settings.map(({ name, type }) => [`--${name}`, type.takes] as const),
  ...Object.entries(generatorOptions.shape).map(
    ([name, schema]) => [`--${hyphenated(name)}`, enumOf(schema).join('|') || undefined] as const,
  ),
])

/** The words that a schema takes. */
function enumOf(schema: z.ZodType): readonly unknown[] {
  const written = z.toJSONSchema(schema, { io: 'input' })
  return [written, ...(written.anyOf ?? [])].flatMap(
    (each) => (typeof each === 'object' ? each.enum : []) ?? [],
  )
}

function placesOf(program: Command): Place[] {
  return [program, ...program.commands.flatMap((verb) => [verb, ...verb.commands])].map((command) => {
    const path = []
    for (let at = command; at.parent !== null; at = at.parent) path.unshift(at.name())
    const argument = command.registeredArguments[0]
    const values = argument === undefined ? [] : valuesOf(argument, argument.name())
    return {
      path: path.join(' '),
      words: [
        ...command.commands.map((verb) => ({ name: verb.name(), about: verb.summary() })),
        ...(values === 'files' ? [] : values).map((name) => ({ name, about: argument!.description })),
      ],
      flags: command.createHelp().visibleOptions(command).map(flagOf),
      takesFile: values === 'files',
    }
  })
}

function flagOf(option: Option): Flag {
  const placeholder = /(?<=<).*(?=>)/.exec(option.flags)?.[0]
  const values = placeholder && valuesOf(option, known.get(option.long!) ?? placeholder)
  return { name: option.long!, about: option.description, values: values || undefined }
}

function valuesOf({ argChoices = [] }: Option | Argument, placeholder: string): Values {
  if (/^file$/i.test(placeholder)) return 'files'
  const words = placeholder.split(/[|,]/)
  return words.length > 1 ? words.filter((word) => !/^[A-Z:=]+$/.test(word)) : argChoices
}

function bash(places: readonly Place[]): string {
  return `# Completion in bash, made by: fahao completion bash
_fahao() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} place='' words='' at
  # bash takes --flag=value for three words.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$place \${COMP_WORDS[at]}" in ${verbPatterns(places)}) place=\${place:+$place }\${COMP_WORDS[at]} ;; esac
  done
  case "$place $prev" in
${valueCases(places, 'compopt -o default; return', (words) => `words=${quoted(words.join(' '))}`)}
  *)
    case "$place" in
${places.map(({ path, words, flags }) => `    '${path}') words='${names([...words, ...flags]).join(' ')}' ;;`).join('\n')}
    esac
    case "$place" in ${filePatterns(places)}) [[ $cur == -* ]] || { compopt -o default; return; } ;; esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _fahao fahao
`
}

function zsh(places: readonly Place[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ name, about }) => quoted(`${name}:${about}`)).join(' ')
  return `#compdef fahao
# Completion in zsh, made by: fahao completion zsh
_fahao() {
  local place='' prev=\${words[CURRENT - 1]} at
  local -a known
  if [[ \${words[CURRENT]} == --*=* ]]; then prev=\${words[CURRENT]%%=*}; compset -P '*='; fi
  for ((at = 2; at < CURRENT; at++)); do
    case "$place \${words[at]}" in ${verbPatterns(places)}) place=\${place:+$place }\${words[at]} ;; esac
  done
  case "$place $prev" in
${valueCases(places, '_files; return', (words) => `compadd -- ${words.join(' ')}; return`)}
  esac
  case "$place" in ${filePatterns(places)}) [[ \${words[CURRENT]} == -* ]] || { _files; return } ;; esac
  case "$place" in
${places.map(({ path, words, flags }) => `  '${path}') known=(${described([...words, ...flags])}) ;;`).join('\n')}
  esac
  _describe -t words fahao known
}
if [[ $funcstack[1] == _fahao ]]; then _fahao "$@"; else compdef _fahao fahao; fi
`
}

function fish(places: readonly Place[]): string {
  const text = (given: string) => `'${given.replaceAll(/['\\]/g, '\\$&')}'`
  const valuesIn = (values: Values | undefined) =>
    values === undefined ? '' : values === 'files' ? ' -rF' : ` -x -a ${text(values.join(' '))}`
  const lines = places.flatMap(({ path, words, flags, takesFile }) =>
    [
      ...words.map(({ name, about }) => `-a ${name} -d ${text(about)}`),
      ...flags.map(({ name, about, values }) => `-l ${name.slice(2)}${valuesIn(values)} -d ${text(about)}`),
      ...(takesFile ? ['-F'] : []),
    ].map((line) => `complete -c fahao -n "__fahao_at '${path}'" ${line}`),
  )
  return `# Completion in fish, made by: fahao completion fish
function __fahao_at
    set -l place ''
    for word in (commandline -opc)[2..]
        switch "$place $word"
            case ${verbPatterns(places).replaceAll(' | ', ' ')}
                set place (string trim -- "$place $word")
        end
    end
    test "$place" = "$argv[1]"
end
complete -c fahao -f
${lines.join('\n')}
`
}

/** Patterns of `$place $word` in which the word leads to a further place. */
function verbPatterns(places: readonly Place[]): string {
  return patterns(places.slice(1).map(({ path }) => (path.includes(' ') ? path : ` ${path}`)))
}

function filePatterns(places: readonly Place[]): string {
  return patterns(places.filter(({ takesFile }) => takesFile).map(({ path }) => path))
}

/** For each set of values: the case of `$place $prev` in which prev is a flag that takes one of them. */
function valueCases(
  places: readonly Place[],
  files: string,
  choose: (words: readonly string[]) => string,
): string {
  const flags = places.flatMap(({ path, flags }) =>
    flags.map(({ name, values }) => ({ at: `${path} ${name}`, values })),
  )
  const sets = Map.groupBy(
    flags.filter(({ values }) => values !== undefined),
    ({ values }) => (values === 'files' ? files : values!.length > 0 ? choose(values as string[]) : 'return'),
  )
  return [...sets].map(([effect, same]) => `  ${patterns(same.map(({ at }) => at))}) ${effect} ;;`).join('\n')
}

function patterns(texts: readonly string[]): string {
  return texts.map(quoted).join(' | ')
}

function names(words: readonly Word[]): string[] {
  return words.map(({ name }) => name)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
