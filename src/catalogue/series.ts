/**
 * Series: generators whose names follow a template, such as `invoice:{tenant}`, by which their first request creates them, and formats
 * that show the name or the tenant. All of them have one definition, and so one plan.
 */
import { FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'
import type { Format } from '../ids/format.ts'
import { withShown } from '../ids/format.ts'
import { tenantField, tenantIn } from '../ids/name-template.ts'
import { type Definition, define, optionsAtFirstUse } from './definition.ts'
import type { AutoCreate } from './deps.ts'
import { type GeneratorInput, parseOptions } from './generator-options.ts'

/** Throws ERR for a name that its template does not make. A family has that of its pattern. */
export function refuseOtherTemplate(
  name: string,
  { template, family }: Pick<Definition, 'template' | 'family'>,
): void {
  if (template === undefined) return
  const fits = family ? template === name.slice(0, -1) + tenantField : tenantIn(template, name) !== undefined
  if (!fits)
    throw new FahaoError(
      'ERR',
      `'${name}' is no name of template '${template}'; leave it out, or give one that ${tenantField} makes this name of`,
    )
}

type Named = Pick<Definition, 'format' | 'template'>

/** The format of a generator: that of its definition, with its key, or with what it shows of the name. */
export function formatFor(
  format: Format | undefined,
  generator: { readonly name: string; readonly definition: Named; readonly formKey?: string | undefined },
): Format | undefined {
  const { name, definition, formKey } = generator
  if (formKey) return format?.withKey(formKey)
  if (format?.shows === undefined) return format
  return format.named(format.shows === 'name' ? name : tenantIn(definition.template!, name)!)
}

/** A definition whose format has what it shows of a generator, for those who do not know of names. */
export function shownTo<Of extends Named>(definition: Of, name: string): Of {
  const { format, template } = definition
  if (format === undefined || !/\{(?:name|tenant)\}/.test(format)) return definition
  const tenant = template === undefined ? undefined : tenantIn(template, name)
  return { ...definition, format: withShown(format, format.includes(tenantField) ? (tenant ?? name) : name) }
}

/** Creates generators when they are first asked for: the first rule that a name matches does. */
export class CreationRules {
  readonly #rules: readonly {
    readonly matches: (name: string) => boolean
    readonly options: GeneratorInput
  }[]

  constructor(rules: readonly AutoCreate[]) {
    this.#rules = rules.map(({ pattern, kind, options }) => {
      const own = optionsAtFirstUse(kind, options)
      return pattern.includes(tenantField)
        ? { matches: (name) => tenantIn(pattern, name) !== undefined, options: { ...own, template: pattern } }
        : { matches: globMatcher(pattern), options: own }
    })
  }

  /** The options of a generator with this name; undefined: no rule creates it. One object for all names of a rule. */
  optionsFor(name: string): GeneratorInput | undefined {
    return this.#rules.find(({ matches }) => matches(name))?.options
  }
}

/** Throws ERR for a rule that creates no generators. `nowUs`: Unix µs. */
export function checkRule(rule: AutoCreate, nowUs: number): void {
  const { pattern, options = {} } = rule
  const refuse = (why: string) => new FahaoError('ERR', why)
  if (options.family !== undefined || options.template !== undefined)
    throw refuse(
      'a rule creates single names, and its pattern is their template; leave family and template out',
    )
  if (!pattern.includes(tenantField))
    return void define(parseOptions(optionsAtFirstUse(rule.kind, options)), nowUs)
  if (/[*?[\]\\]/.test(pattern))
    throw refuse(`a pattern with ${tenantField} has no other wildcard; leave * ? [ ] and \\ out`)
  define(parseOptions(new CreationRules([rule]).optionsFor(pattern.replace(tenantField, 'x'))), nowUs)
}
