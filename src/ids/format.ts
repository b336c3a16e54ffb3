/**
 * Formats: the text around an id.
 *
 *   template = any text with exactly one {id}; {{ and }} stand for braces
 *   {id} {id:WIDTH} {id:WIDTH+} {id:WIDTH:DIGITS} {id::DIGITS}  DIGITS base10, base16, base36, base62, crockford or alphabet=…,
 *                                                           and group=N
 *   {node} {node:WIDTH}
 *   {name} {tenant}                                         of the generator: `Format.named`
 *   {date:PATTERN} {date:PATTERN:ZONE}                      ZONE UTC, GMT, +HH:MM, -HH:MM or Area/City
 *   {end:PATTERN}                                           of a period: see period-format.ts
 *   {check:NAME}                                            see check-digit.ts
 *
 *   uuidv7  uuidv8  ulid  typeid:PREFIX  objectid           see wide-format.ts
 *
 * Every part but an id without WIDTH, or with WIDTH+, has a fixed width, and there is one id. So the text of two ids is never
 * the same, and every format reads back what it wrote. Nor is the text of two names: what is beside the id, or its width, tells
 * where the name ends. Where case is ignored, that does not hold for base62.
 */
import { FahaoError } from '../base/errors.ts'
import { Alphabet, alphabets, base10 } from './alphabet.ts'
import type { Format } from './any-format.ts'
import { CheckDigits, type CheckName, checkNames } from './check-digit.ts'
import { CheckPart, DatePart, IdPart, idWidthMax, LiteralPart, NamePart, NodePart } from './format-part.ts'
import type { Layout } from './layout.ts'
import { max63 } from './limits.ts'
import type { Periods } from './period.ts'
import { PeriodFormat } from './period-format.ts'
import { shortened } from './shortened.ts'
import { type Part, Template } from './template.ts'
import { WideFormat, wideSpecOf } from './wide-format.ts'

export type { Format, TextColumn } from './any-format.ts'
export type { FormatValues } from './format-part.ts'

/** Options that the text of a template does not state. */
export type FormatOptions = {
  /** Digits of `{node}` without a width: those of the configured index, the same on every node. */
  readonly nodeWidth?: number | undefined
  /** Takes ambiguous zones too, such as CST: of a generator that was stored before they were refused. Default: no. */
  readonly anyZone?: boolean | undefined
  /** The layout of the ids; undefined: they are of a counter. Wide formats depend on it. */
  readonly layout?: Layout | undefined
  /** The periods of the ids, whose numbers `{id}` shows, and whose first and last days `{date}` and `{end}`. */
  readonly periods?: Periods | undefined
}

/** A name that is put in can double what a generator may be given (generator-options.ts). */
const templateMax = 1024
const ownAlphabet = 'alphabet='
/** Where a template lacks its id, its writer may have meant one. */
const wideHint = ', or give uuidv7, uuidv8, ulid, typeid:PREFIX or objectid'
const nodeWidthMax = 15

/** Checks and compiles a format. Throws ERR with the reason and the remedy. */
export function compileFormat(template: string, options: FormatOptions = {}): Format {
  if (template.length > templateMax) throw refused(`it is longer than ${templateMax} characters`)
  if (/\p{Cc}/u.test(template)) throw refused('it has control characters; write it on one line')
  if (!template.isWellFormed()) throw refused('it is not well-formed Unicode')
  const wide = wideSpecOf(template)
  const { periods } = options
  if (periods !== undefined) {
    if (wide !== undefined)
      throw refused(`texts of ${template} do not show periods; leave it out, or the period`)
    return new PeriodFormat(templateOf(template, options, periods.zone), periods)
  }
  return wide === undefined ? templateOf(template, options) : new WideFormat(template, wide, options.layout)
}

/** How many decimal digits numbers of a period of this zone have room for in a format; undefined: for as many as they have. */
export function numberDigits(template: string, zone: string): number | undefined {
  const { maxId } = templateOf(template, { nodeWidth: 1 }, zone)
  return maxId === max63 ? undefined : String(maxId + 1n).length - 1
}

/** `zone`: of the periods whose dates it shows. */
function templateOf(template: string, options: FormatOptions, zone?: string): Template {
  const parts = partsOf(template, options, zone)
  checkTogether(parts)
  return new Template(template, parts)
}

/** Text and fields, in order. */
function partsOf(template: string, options: FormatOptions, zone: string | undefined): (Part | CheckPart)[] {
  const parts: (Part | CheckPart)[] = []
  let literal = ''
  const endLiteral = () => {
    if (literal !== '') parts.push(new LiteralPart(literal))
    literal = ''
  }
  for (const [match, text, brace, field] of template.matchAll(/([^{}]+)|(\{\{|\}\})|\{([^{}]*)\}|[{}]/g)) {
    if (text !== undefined || brace !== undefined) literal += text ?? brace![0]
    else if (field === undefined)
      throw refused(`a '${match}' stands alone; write ${match}${match} for a brace`)
    else {
      endLiteral()
      parts.push(fieldPart(field, options, zone))
    }
  }
  endLiteral()
  return parts
}

function fieldPart(field: string, options: FormatOptions, zone: string | undefined): Part | CheckPart {
  const [name = '', first, second, ...others] = field.split(':')
  const count = first === undefined ? 0 : second === undefined ? 1 : 2 + others.length
  if (name === 'id') return idPart(field, first, second === undefined ? undefined : [second, ...others])
  if ((name === 'name' || name === 'tenant') && count === 0) return new NamePart(name)
  if (name === 'node' && count <= 1) return nodePart(first, options)
  // An offset such as +08:00 has a colon of its own.
  const given = second === undefined ? undefined : [second, ...others].join(':')
  if (zone !== undefined && (name === 'date' || name === 'end') && first !== undefined) {
    if (given !== undefined && given !== zone)
      throw refused(
        `'{${shortened(field)}}' is of the period, whose zone is ${zone}; leave the zone out of it`,
      )
    // Its moments are the local time of the zone already.
    return new DatePart(first, 'UTC', { isEnd: name === 'end' })
  }
  if (name === 'end')
    throw refused(`'{${shortened(field)}}' is the end of a period; give one, or use {date:…}`)
  if (name === 'date' && first !== undefined) return new DatePart(first, given ?? 'UTC', options)
  if (name === 'check' && count === 1 && isCheckName(first)) return new CheckPart(first)
  throw refused(
    `'{${shortened(field)}}' is no field; use {id:8}, {id:8:base36}, {node:3}, {date:yyyyMMdd}, {date:yyyyMMdd:Asia/Shanghai}, or {check:NAME} with ${checkNames.join(', ')}`,
  )
}

function isCheckName(name: string | undefined): name is CheckName {
  return checkNames.some((each) => each === name)
}

function idPart(field: string, width: string | undefined, how: readonly string[] = []): IdPart {
  const free = width === undefined || (width === '' && how.length > 0)
  const least = width?.endsWith('+') ? checkedWidth(field, width.slice(0, -1), idWidthMax) : 0
  const digits = free || least > 0 ? undefined : checkedWidth(field, width, idWidthMax)
  const groups = how.filter((each) => each.startsWith('group='))
  const radixes = how.filter((each) => !each.startsWith('group='))
  if (groups.length > 1 || radixes.length > 1)
    throw refused(
      `'{${shortened(field)}}' has more than a radix and a group; write it like {id:8:crockford:group=4}`,
    )
  const alphabet = radixes[0] === undefined ? base10 : alphabetOf(field, radixes[0])
  if (groups[0] === undefined) return new IdPart(digits, alphabet, 0, least)
  if (alphabet.digits.includes('-'))
    throw refused(
      `'{${shortened(field)}}' groups by hyphens, and its alphabet has one; leave it out of the alphabet`,
    )
  const group = checkedWidth(field, groups[0].slice('group='.length), idWidthMax)
  return new IdPart(digits, alphabet, group, least)
}

function alphabetOf(field: string, radix: string): Alphabet {
  const known = alphabets.get(radix)
  if (known !== undefined) return known
  if (!radix.startsWith(ownAlphabet)) {
    const names = [...alphabets.keys()].join(', ')
    throw refused(
      `'{${shortened(field)}}' has no radix of ${names}, nor ${ownAlphabet} with digits of its own`,
    )
  }
  const digits = radix.slice(ownAlphabet.length)
  if (!/^[A-Za-z0-9_-]{2,62}$/.test(digits) || new Set(digits).size < digits.length)
    throw refused(
      `alphabet '${shortened(digits)}' is not 2 to 62 letters A–Z, a–z, digits, - and _, each once`,
    )
  return new Alphabet(digits, digits)
}

function nodePart(width: string | undefined, { nodeWidth }: FormatOptions): NodePart {
  if (width !== undefined) return new NodePart(checkedWidth(`node:${width}`, width, nodeWidthMax))
  if (nodeWidth === undefined) {
    throw refused('{node} of free width is ambiguous, 1 + 11 and 11 + 1 look the same; write {node:3}')
  }
  return new NodePart(checkedWidth('node', String(nodeWidth), nodeWidthMax))
}

function checkedWidth(field: string, width: string, max: number): number {
  const digits = /^[1-9]\d?$/.test(width) ? Number(width) : 0
  if (digits < 1 || digits > max) {
    throw refused(`'{${shortened(field)}}' has a width of ${shortened(width) || 'nothing'}; give 1 to ${max}`)
  }
  return digits
}

function checkTogether(parts: readonly (Part | CheckPart)[]): void {
  const ids = parts.filter((part) => part instanceof IdPart)
  if (ids.length !== 1)
    throw refused(`it has ${ids.length} times {id}; write it once${ids.length === 0 ? wideHint : ''}`)
  if (parts.filter((part) => part instanceof NodePart).length > 1)
    throw refused('it has {node} twice; keep one')
  const dates = parts.filter((part) => part instanceof DatePart)
  if (dates.some((date) => date.shows('YYYY')) && !dates.some((date) => date.shows('ww')))
    throw refused(
      'YYYY is the year of ISO weeks, which is another one around new year; write yyyy, or show ww too',
    )
  checkShown(parts, ids[0]!)
  const checks = parts.filter((part) => part instanceof CheckPart)
  if (checks.length > 1) throw refused('it has two check digits; keep one')
  if (checks.length > 0) checkCovered(new CheckDigits(checks[0]!.name, ids[0]!.alphabet), ids[0]!.alphabet)
}

/** Refuses formats in which two names could have the same text. The width of all but the name and the id is fixed. */
function checkShown(parts: readonly (Part | CheckPart)[], id: IdPart): void {
  const [name, another] = parts.filter((part) => part instanceof NamePart)
  if (name === undefined) return
  if (another !== undefined) throw refused('it shows a name twice; keep one of {name} and {tenant}')
  if (id.width !== undefined) return
  const isBefore = parts.indexOf(name) < parts.indexOf(id)
  const beside = parts[parts.indexOf(id) + (isBefore ? -1 : 1)]
  const sign = beside instanceof LiteralPart ? beside.write().at(isBefore ? -1 : 0)! : undefined
  if (sign !== undefined && !id.alphabet.digits.includes(sign) && !(sign === '-' && id.group > 0)) return
  throw refused(
    `two names could have the same text; put a character that ids do not have beside {id}, as in '{${name.shows}}-{id}', or give {id} a width`,
  )
}

/** A format with the text in it that it shows of its generator. */
export function withShown(format: string, text: string): string {
  const escaped = text.replaceAll(/[{}]/g, '$&$&')
  return format.replaceAll(/\{\{|\}\}|\{(?:name|tenant)\}/g, (found) => (found.length > 2 ? escaped : found))
}

/** Refuses check digits that would not cover every digit of the id. */
function checkCovered({ name, hasLetters }: CheckDigits, { digits, mixesCases }: Alphabet): void {
  if (/^[0-9]+$/.test(digits)) return
  if (!hasLetters) {
    const others = 'mod97, mod37-2 or mod37-36'
    throw refused(`the check digit ${name} is over decimal digits; leave the radix out, or use ${others}`)
  }
  if (mixesCases || !/^[A-Za-z0-9]+$/.test(digits))
    throw refused(
      `the check digit ${name} takes letters without case, and neither - nor _; use base36, crockford or an alphabet of one case`,
    )
}

function refused(reason: string): FahaoError {
  return new FahaoError('ERR', `the format cannot be used: ${reason}`)
}
