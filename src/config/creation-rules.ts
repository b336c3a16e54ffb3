/**
 * The setting `auto-create`: rules by which the first request for a name creates a generator.
 *
 *   PATTERN=KIND[,OPTION=VALUE]…      such as 'invoice:{tenant}=sequence,gaps=none,format={tenant}-{id}'
 *
 * White space separates rules. An option begins at a comma that letters and = follow, so that other commas are part of the value
 * before. In a file a rule is such a text, or a map of `pattern` and the options of a generator, for values with white space.
 */
import { systemClock } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { AutoCreate } from '../catalogue/deps.ts'
import { type GeneratorInput, optionName, optionText, parseOptions } from '../catalogue/generator-options.ts'
import { checkRule } from '../catalogue/series.ts'
import { kinds } from '../issuing/issuer.ts'
import { configError, shortened, type ValueType, wordsOf } from './config-values.ts'

const rule = new RegExp(`^(\\S+?)=(${kinds.join('|')})(?:,(.*))?$`, 's')

/** Any number of rules. */
export const autoCreateRules: ValueType<readonly AutoCreate[]> = {
  read: (given) => wordsOf(given).map(readRule),
  readItems: (items) =>
    items.flatMap((item) => (typeof item === 'string' ? wordsOf(item).map(readRule) : [ruleOf(item)])),
  show: (rules) => rules.map(ruleText).join(' '),
  takes: 'PATTERN=KIND',
  list: true,
}

function readRule(given: string): AutoCreate {
  const [, pattern, kind, others = ''] = rule.exec(given) ?? []
  if (pattern === undefined)
    throw configError(
      `'${shortened(given)}' is no rule; write PATTERN=KIND, such as 'order:*=sequence', with one of ${kinds.join(', ')}, and options behind it, as 'order:*=sequence,gaps=none'`,
    )
  const options: Record<string, string> = {}
  for (const option of others === '' ? [] : others.split(/,(?=[A-Za-z-]+=)/)) {
    const [, word = option, value = ''] = /^([A-Za-z-]+)=(.*)$/s.exec(option) ?? []
    const name = optionName(word) ?? word
    if (options[name] !== undefined)
      throw configError(`rule '${shortened(given)}': ${name} is given twice; give it once`)
    options[name] = value
  }
  return checked(pattern, { ...options, kind })
}

/** A rule of a file. */
function ruleOf(item: unknown): AutoCreate {
  const { pattern, ...options } = item as Record<string, unknown>
  if (typeof pattern === 'string' && /^\S+$/.test(pattern)) return checked(pattern, options)
  throw configError(
    "a rule has a pattern of names, such as { pattern: 'order:*', kind: sequence }; give it one",
  )
}

function checked(pattern: string, given: Readonly<Record<string, unknown>>): AutoCreate {
  try {
    const { kind } = parseOptions(given)
    const { kind: _, ...options } = given as GeneratorInput
    const hasOptions = Object.keys(options).length > 0
    const made: AutoCreate = Object.freeze({
      pattern,
      kind,
      ...(hasOptions && { options: Object.freeze(options) }),
    })
    checkRule(made, systemClock.wallUs())
    return made
  } catch (error) {
    const why = error instanceof FahaoError ? error.message : describe(error)
    throw configError(`rule '${shortened(pattern)}': ${why}`)
  }
}

function ruleText({ pattern, kind, options = {} }: AutoCreate): string {
  const words = Object.entries(options).map(([name, value]) => `,${name}=${optionText(name, value)}`)
  return `${pattern}=${kind}${words.join('')}`
}
