/** Options of generators as words of a command: `KIND segment STEP 5000`. */
import { FahaoError } from '../base/errors.ts'
import { type GeneratorInput, optionName, optionNames } from '../catalogue/options.ts'
import type { Arguments } from './arguments.ts'

/** Options that were given, each once. */
export type GivenOptions = Partial<GeneratorInput> & { readonly floor?: string; readonly force?: boolean }

/**
 * Reads pairs of option and value from `from` on, and FORCE, which has none. ERR names what is unknown, given twice or without
 * a value.
 */
export function readOptions(args: Arguments, from: number, alsoFloor = false): GivenOptions {
  const given = new Map<string, unknown>()
  for (let index = from; index < args.length; index += 2) {
    const word = args.text(index)
    if (alsoFloor && word.toLowerCase() === 'force') {
      given.set('force', true)
      index--
      continue
    }
    const name = alsoFloor && word.toLowerCase() === 'floor' ? 'floor' : optionName(word)
    if (name === undefined) throw unknownOption(word, alsoFloor)
    if (index + 1 >= args.length) throw new FahaoError('ERR', `option ${word.toUpperCase()} has no value`)
    if (given.has(name)) throw new FahaoError('ERR', `option ${word.toUpperCase()} is given twice`)
    const value = args.text(index + 1)
    given.set(name, name === 'kind' ? value.toLowerCase() : value)
  }
  return Object.fromEntries(given) as GivenOptions
}

function unknownOption(word: string, alsoFloor: boolean): FahaoError {
  const known = [...optionNames, ...(alsoFloor ? ['floor'] : [])].map((name) => name.toUpperCase())
  return new FahaoError('ERR', `unknown option '${word.slice(0, 64)}'; known are ${known.join(', ')}`)
}
