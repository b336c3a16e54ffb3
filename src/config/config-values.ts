/**
 * The types of settings. A value is text in flags and in the environment, and text or one of YAML's types in a file.
 * Every type reads both forms, and writes the values that it has read.
 */
import { type Address, addressText } from '../base/address.ts'
import { FahaoError } from '../base/errors.ts'
import { formatDuration, formatSize, parseDurationMs, parseSizeBytes } from '../base/units.ts'
import type { NodeIndex } from '../catalogue/deps.ts'
import { parseWorkerStrategy, type WorkerStrategy, workerStrategyText } from './worker-strategy.ts'

/** The reader and the writer of a setting's value. */
export type ValueType<Value> = {
  /** Throws a FahaoError that says what is wrong. */
  readonly read: (given: string) => Value
  readonly show: (value: Value) => string
  /** The placeholder of the value in help; undefined: a switch, which is on when it is named. */
  readonly takes: string | undefined
  /** Accepts a list; in one text, white space separates the items. */
  readonly list?: boolean
  /** Reads the list of a file, whose items are texts and maps. Default: of texts alone, by `read`. */
  readonly readItems?: (items: readonly unknown[]) => Value
}

/** An engine's URL. Its password is a secret: the shown form does not contain it. */
export const engineUrl: ValueType<string> = {
  ...text('URL'),
  show: (url) =>
    url.replace(/^(\w+:\/\/[^:/?]*):.*@/, '$1:***@').replaceAll(/([?&]\w*pass\w*=)[^&]*/gi, '$1***'),
}

/** Any text except the empty one. */
export function text(takes: string): ValueType<string> {
  return {
    read(given) {
      if (given === '') throw configError(`'' is no ${takes}`)
      return given
    },
    show: (value) => value,
    takes,
  }
}

/** One of a few words. `others` are synonyms of them. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  others: Readonly<Record<string, NoInfer<Word>>> = {},
): ValueType<Word> {
  return {
    read(given) {
      const word = Object.hasOwn(others, given) ? others[given] : words.find((each) => each === given)
      if (word === undefined) throw configError(`'${shortened(given)}' is none of ${words.join(', ')}`)
      return word
    },
    show: (value) => value,
    takes: words.join('|'),
  }
}

/** Some of a few words, separated by commas or white space. */
export function someOf<const Word extends string>(words: readonly Word[]): ValueType<readonly Word[]> {
  const one = oneOf(words)
  return {
    read(given) {
      const named = [...new Set(wordsOf(given.replaceAll(',', ' ')).map(one.read))]
      if (named.length > 0) return named
      throw configError(`'' names none of ${words.join(', ')}`)
    },
    show: (chosen) => chosen.join(' '),
    takes: words.join(','),
    list: true,
  }
}

/** Any number of words, separated by white space. */
export function words(takes: string): ValueType<readonly string[]> {
  return {
    read: wordsOf,
    show: (value) => value.join(' '),
    takes,
    list: true,
  }
}

/** Any number of origins of web pages, each exactly as a browser sends it. */
export const origins: ValueType<readonly string[]> = {
  ...words('ORIGIN'),
  read(given) {
    const read = wordsOf(given)
    const wrong = read.find((each) => !isOrigin(each))
    if (wrong === undefined) return read
    throw configError(
      `'${shortened(wrong)}' is no origin; write scheme, host and port as a browser does: https://console.example.org`,
    )
  },
}

function isOrigin(text: string): boolean {
  return /^https?:\/\/[^*]+$/.test(text) && URL.parse(text)?.origin === text
}

/** A whole number. */
export function whole(min: bigint, max: bigint): ValueType<bigint> {
  return {
    read(given) {
      const value = /^\d{1,19}$/.test(given) ? BigInt(given) : -1n
      if (value >= min && value <= max) return value
      throw configError(`'${shortened(given)}' is no whole number from ${min} to ${max}`)
    },
    show: String,
    takes: 'N',
  }
}

/** A whole number that is exact in a double. */
export function count(min: number, max: number): ValueType<number> {
  const { read, takes } = whole(BigInt(min), BigInt(max))
  return { read: (given) => Number(read(given)), show: String, takes }
}

/** The index that `{node}` shows. Zeros in front count: they give the indexes of a fleet one width. */
export const nodeIndex: ValueType<NodeIndex> = {
  read(given) {
    if (/^\d{1,9}$/.test(given)) return { value: Number(given), width: given.length }
    throw configError(`'${shortened(given)}' is no whole number from 0 to 999999999`)
  },
  show: ({ value, width }) => String(value).padStart(width, '0'),
  takes: 'N',
}

/** A duration in ms, written `250ms`, `3s`, `10m`. */
export function duration(min: string, max: string): ValueType<number> {
  const read = measured(parseDurationMs, min, max)
  return { read: withUnit(read, min, max), show: formatDuration, takes: 'DURATION' }
}

/** A size in bytes, written `64KiB`. */
export function size(min: string, max: string): ValueType<number> {
  return { read: measured(parseSizeBytes, min, max), show: formatSize, takes: 'SIZE' }
}

/** `type`, or `off`: undefined. */
export function orOff<Value>(type: ValueType<Value>): ValueType<Value | undefined> {
  return {
    read: (given) => (given === 'off' || given === 'false' ? undefined : type.read(given)),
    show: (value) => (value === undefined ? 'off' : type.show(value)),
    takes: `${type.takes}|off`,
  }
}

/** A limit, or `off`: Infinity. */
export function orUnlimited(type: ValueType<number>): ValueType<number> {
  const { read, show, takes } = orOff(type)
  return {
    read: (given) => read(given) ?? Number.POSITIVE_INFINITY,
    show: (value) => show(Number.isFinite(value) ? value : undefined),
    takes,
  }
}

/** `type`, or not given: undefined. */
export function optional<Value>(type: ValueType<Value>): ValueType<Value | undefined> {
  return {
    ...type,
    read: (given) => (given === '' ? undefined : type.read(given)),
    show: (value) => (value === undefined ? '' : type.show(value)),
  }
}

/** `on` or `off`. */
export const onOff: ValueType<boolean> = {
  read(given) {
    if (/^(?:on|true|yes|1)$/.test(given)) return true
    if (/^(?:off|false|no|0)$/.test(given)) return false
    throw configError(`'${shortened(given)}' is neither on nor off`)
  },
  show: (value) => (value ? 'on' : 'off'),
  takes: 'on|off',
}

/** `on` or `off`; as a flag it takes no value, and means on. */
export const aSwitch: ValueType<boolean> = { ...onOff, takes: undefined }

/** `HOST:PORT`; an IPv6 address stands in brackets. */
export const address: ValueType<Address> = {
  read(given) {
    const [, v6, host, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(given) ?? []
    if (port !== undefined && Number(port) <= 65_535) return { host: (v6 ?? host)!, port: Number(port) }
    throw configError(
      `'${shortened(given)}' is no address; write HOST:PORT, such as 127.0.0.1:7379 or [::1]:7379`,
    )
  },
  show: addressText,
  takes: 'HOST:PORT',
}

/** Whether only this machine can reach the address. */
export function isLoopback({ host }: Address): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}

/** See `parseWorkerStrategy`. */
export const workerStrategy: ValueType<WorkerStrategy> = {
  read: parseWorkerStrategy,
  show: workerStrategyText,
  takes: 'STRATEGY',
}

/** The words of a text, separated by white space. */
export function wordsOf(given: string): string[] {
  return given.split(/\s+/).filter((word) => word !== '')
}

function measured(parse: (given: string) => number, min: string, max: string): (given: string) => number {
  return (given) => {
    const value = parse(given)
    if (value >= parse(min) && value <= parse(max)) return value
    throw configError(`'${shortened(given)}' is out of range; give ${min} to ${max}`)
  }
}

/** A number without a unit is milliseconds. If that is out of range, the error suggests a unit with which it is in range. */
function withUnit(read: (given: string) => number, min: string, max: string): (given: string) => number {
  return (given) => {
    try {
      return read(given)
    } catch (error) {
      const units = /^\d{1,15}$/.test(given) ? ['s', 'm', 'h', 'd'] : []
      const meant = units.map((unit) => given + unit).find((each) => fits(read, each))
      if (meant === undefined) throw error
      throw configError(`'${given}' has no unit; write ${meant}, or another duration from ${min} to ${max}`)
    }
  }
}

function fits(read: (given: string) => unknown, given: string): boolean {
  try {
    read(given)
    return true
  } catch {
    return false
  }
}

/** A value in a message. */
export function shortened(given: string): string {
  return given.length > 60 ? `${given.slice(0, 60)}…` : given
}

/** The error of a configuration that cannot be used. */
export function configError(sentence: string): FahaoError {
  return new FahaoError('CONFIG', sentence)
}
