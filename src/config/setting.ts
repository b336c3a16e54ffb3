/** One setting of the schema: its value's type, default and meaning. */
import { z } from 'zod'
import { describe, FahaoError } from '../base/errors.ts'
import type { ValueType } from './config-values.ts'

/** What describes a setting beyond its schema. */
export type About = {
  /** One line, for help and the reference page. */
  readonly meaning: string
  /** The default in its written form; empty: none. */
  readonly defaultText: string
  readonly type: ValueType<unknown>
}

/** The description of each setting, by its schema. */
export const abouts = z.registry<About>()

/**
 * The schema of a setting.
 * @param defaultText the default in its written form; empty: none.
 */
export function setting<Value>(type: ValueType<Value>, meaning: string, defaultText = ''): z.ZodType<Value> {
  const one = [z.string(), z.number(), z.bigint(), z.boolean()]
  const item = type.readItems ? z.union([z.string(), z.record(z.string(), z.unknown())]) : z.string()
  const given = type.list
    ? z.union([...one, z.array(item)], {
        error: `wants one text, or a list of texts${type.readItems ? ' and maps' : ''}`,
      })
    : z.union(one, { error: 'wants a single value' })
  // A prefault applies before the parse: a default after the parse would also replace `off`.
  return given
    .prefault(defaultText)
    .transform((value, context) => {
      try {
        if (Array.isArray(value) && type.readItems) return type.readItems(value)
        return type.read([value].flat().join(' '))
      } catch (error) {
        context.addIssue(error instanceof FahaoError ? error.message : describe(error))
        return z.NEVER
      }
    })
    .register(abouts, { meaning, defaultText, type: type as ValueType<unknown> })
}
