/** Settings of the compatible APIs: the APIs to serve, their addresses, and the tokens that they accept. */
import { type Address, addressText } from '../base/address.ts'
import { address, configError, type ValueType, wordsOf } from './config-values.ts'

/** Every compatible API, named after the program that it comes from. */
export const compatNames = Object.freeze(['leaf', 'idbuilder', 'tinyid', 'cosid'] as const)

/** The name of a compatible API. */
export type CompatName = (typeof compatNames)[number]

/** A compatible API on a port of its own. */
export type CompatListener = { readonly api: CompatName; readonly address: Address }

/** A request with `token` may draw from generators whose name matches `pattern`, a glob as in KEYS. */
export type TokenRule = { readonly token: string; readonly pattern: string }

/** Requests to `api` without credentials are those of `user`. */
export type CompatUser = { readonly api: CompatName; readonly user: string }

/** The fewest characters of a token in `tinyid-tokens`. tinyid's own have 32. */
const tokenMin = 16

/** `leaf,tinyid`: names, separated by commas or white space. */
export const compatApis: ValueType<readonly CompatName[]> = {
  read: (given) => [...new Set(wordsOf(given.replaceAll(',', ' ')).map(readName))],
  show: (names) => names.join(' '),
  takes: 'API',
  list: true,
}

/** `leaf=127.0.0.1:8080`, any number of them. */
export const compatListeners: ValueType<readonly CompatListener[]> = {
  read: (given) => wordsOf(given).map(readListener),
  show: (listeners) => listeners.map(({ api, address }) => `${api}=${addressText(address)}`).join(' '),
  takes: 'API=HOST:PORT',
  list: true,
}

/** `leaf=alice`, any number of them. */
export const compatUsers: ValueType<readonly CompatUser[]> = {
  read: (given) => wordsOf(given).map(readUser),
  show: (users) => users.map(({ api, user }) => `${api}=${user}`).join(' '),
  takes: 'API=USER',
  list: true,
}

/** `TOKEN=PATTERN`, any number of them. Tokens are secrets: neither the shown form nor an error contains one. */
export const tokenRules: ValueType<readonly TokenRule[]> = {
  read: (given) => wordsOf(given).map(readRule),
  show: (rules) => rules.map(({ pattern }) => `***=${pattern}`).join(' '),
  takes: 'TOKEN=PATTERN',
  list: true,
}

function readName(given: string): CompatName {
  const name = compatNames.find((each) => each === given)
  if (name !== undefined) return name
  throw configError(
    `'${given.slice(0, 60)}' is no API that can be served; known are ${compatNames.join(', ')}`,
  )
}

function readListener(given: string): CompatListener {
  const equals = given.indexOf('=')
  if (equals > 0) {
    return Object.freeze({
      api: readName(given.slice(0, equals)),
      address: Object.freeze(address.read(given.slice(equals + 1))),
    })
  }
  throw configError(
    `'${given.slice(0, 60)}' is no port of an API; write API=HOST:PORT, such as leaf=127.0.0.1:8080`,
  )
}

function readUser(given: string): CompatUser {
  const equals = given.indexOf('=')
  const user = given.slice(equals + 1)
  if (equals > 0 && user !== '') return Object.freeze({ api: readName(given.slice(0, equals)), user })
  throw configError(`'${given.slice(0, 60)}' names no user of an API; write API=USER, such as leaf=alice`)
}

function readRule(given: string, at: number): TokenRule {
  const equals = given.lastIndexOf('=')
  const [token, pattern] = [given.slice(0, Math.max(0, equals)), given.slice(equals + 1)]
  if (token.length >= tokenMin && pattern !== '') return Object.freeze({ token, pattern })
  if (token !== '' && pattern !== '')
    throw configError(
      `rule ${at + 1} has a token of ${token.length} characters, which can be guessed; give one of ${tokenMin} or more, such as 32 digits at random`,
    )
  throw configError(`rule ${at + 1} is none; write TOKEN=PATTERN, such as 0f673adf80504e2e=order*`)
}
