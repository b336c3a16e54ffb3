/** A user as it is stored, and Redis's rules that change it: `on >secret ~order* +@issue`. */
import { z } from 'zod'
import { FahaoError } from '../base/errors.ts'
import { initialRules, type Subjects, withRule } from './command-rules.ts'
import { digestOf, type Passwords, passwordBytesMax } from './passwords.ts'
import { readPhc } from './phc.ts'

/** A user. */
export type User = {
  readonly name: string
  readonly enabled: boolean
  /** Whether any password is accepted. */
  readonly nopass: boolean
  /** PHC strings; see passwords.ts. */
  readonly passwords: readonly string[]
  /** Globs of the names of generators. */
  readonly patterns: readonly string[]
  /** Rules of commands; see command-rules.ts. */
  readonly commands: readonly string[]
}

/** A user that may do nothing beyond connecting, as a new one is. */
export function newUser(name: string): User {
  return { name, enabled: false, nopass: false, passwords: [], patterns: [], commands: initialRules }
}

/** The user of a connection before it authenticates, while no user is stored. */
export const openDefault: User = Object.freeze({
  name: 'default',
  enabled: true,
  nopass: true,
  passwords: [],
  patterns: ['*'],
  commands: ['+@all'],
})

/** One rule, checked, as a function of the user. Passwords cost time: those rules return a promise. */
export type Change = (user: User) => User | Promise<User>

const passwordsMax = 8
const rulesMax = 256
const patternMaxBytes = 512
const patternsMaxBytes = 8192

/** The rules of ACL SETUSER as changes. ERR names the first one that is wrong, in Redis's words. */
export function readRules(rules: readonly string[], subjects: Subjects, passwords: Passwords): Change[] {
  if (rules.length > rulesMax) throw new FahaoError('LIMIT', `at most ${rulesMax} rules in one request`)
  return rules.map((rule, index) => readRule(rule, index, subjects, passwords))
}

/** Redis's rules that have no meaning here, and do no harm: there are no channels and no payloads. */
const withoutEffect = new Set([
  'allchannels',
  'resetchannels',
  'sanitize-payload',
  'skip-sanitize-payload',
  'clearselectors',
])

const words: Readonly<Record<string, (user: User) => User>> = {
  on: (user) => ({ ...user, enabled: true }),
  off: (user) => ({ ...user, enabled: false }),
  nopass: (user) => ({ ...user, nopass: true, passwords: [] }),
  resetpass: (user) => ({ ...user, nopass: false, passwords: [] }),
  allkeys: (user) => ({ ...user, patterns: ['*'] }),
  resetkeys: (user) => ({ ...user, patterns: [] }),
  allcommands: (user) => ({ ...user, commands: ['+@all'] }),
  nocommands: (user) => ({ ...user, commands: ['-@all'] }),
  reset: ({ name }) => newUser(name),
}

function readRule(rule: string, index: number, subjects: Subjects, passwords: Passwords): Change {
  const word = rule.toLowerCase()
  if (Object.hasOwn(words, word)) return words[word]!
  if (withoutEffect.has(word) || rule.startsWith('&')) return (user) => user
  const rest = rule.slice(1)
  if (rule.startsWith('+') || rule.startsWith('-')) return readCommandRule(rule, subjects)
  if (rule.startsWith('~')) return readPattern(rest, rule)
  if (/^%rw~/i.test(rule)) return readPattern(rule.slice(4), rule)
  if (rule.startsWith('%'))
    throw refused(rule, 'reading and issuing are told apart by @read and @issue; write ~pattern')
  if (rule.startsWith('(')) throw refused(rule, 'selectors are not supported; make a second user')
  // Without the rule's text: it has a password in it.
  if (rule.startsWith('>') || rule.startsWith('<')) {
    const digest = digestOf(checkedPassword(rest, index))
    return rule.startsWith('>') ? adding(digest, passwords) : removing(digest, passwords)
  }
  if (rule.startsWith('#') || rule.startsWith('!')) return readHash(rule, index, passwords)
  throw refused(rule, 'Syntax error')
}

function readCommandRule(rule: string, subjects: Subjects): Change {
  const normal = rule.toLowerCase()
  if (!subjects.knows(normal.slice(1))) throw refused(rule, 'Unknown command or category name in ACL')
  return (user) => ({ ...user, commands: withRule(user.commands, normal) })
}

function readPattern(pattern: string, rule: string): Change {
  if (pattern === '' || Buffer.byteLength(pattern) > patternMaxBytes)
    throw refused(rule, `a pattern has 1 to ${patternMaxBytes} bytes`)
  return (user) => {
    if (user.patterns.includes('*') && pattern !== '*') {
      throw refused(
        rule,
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns",
      )
    }
    if (pattern === '*') return { ...user, patterns: ['*'] }
    if (user.patterns.length >= rulesMax)
      throw new FahaoError('LIMIT', `a user has at most ${rulesMax} patterns`)
    const patterns = [...new Set([...user.patterns, pattern])]
    if (patternBytes(patterns) > patternsMaxBytes) {
      throw new FahaoError(
        'LIMIT',
        `the patterns of a user have at most ${patternsMaxBytes} bytes together; write fewer, such as one prefix for several names`,
      )
    }
    return { ...user, patterns }
  }
}

/** The bytes of all patterns: each name that the user asks for is compared with them. */
export function patternBytes(patterns: readonly string[]): number {
  return patterns.reduce((sum, each) => sum + Buffer.byteLength(each), 0)
}

function readHash(rule: string, index: number, passwords: Passwords): Change {
  const hash = rule.slice(1)
  if (readPhc(hash) !== undefined) {
    return rule.startsWith('#') ? (user) => withPassword(user, hash) : (user) => without(user, hash)
  }
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    throw refused(
      `${rule[0]}…`,
      `The password hash (argument ${index + 1}) must be exactly 64 characters and contain only lowercase hexadecimal characters`,
    )
  }
  return rule.startsWith('#') ? adding(hash, passwords) : removing(hash, passwords)
}

function adding(digest: string, passwords: Passwords): Change {
  return async (user) => {
    if ((await passwords.find(user.passwords, digest)) !== undefined) return { ...user, nopass: false }
    return withPassword(user, await passwords.hashDigest(digest, user.passwords))
  }
}

function removing(digest: string, passwords: Passwords): Change {
  return async (user) => without(user, await passwords.find(user.passwords, digest))
}

function withPassword(user: User, stored: string): User {
  if (user.passwords.length >= passwordsMax) {
    throw new FahaoError('LIMIT', `a user has at most ${passwordsMax} passwords; remove one first`)
  }
  return { ...user, nopass: false, passwords: [...new Set([...user.passwords, stored])] }
}

function without(user: User, stored: string | undefined): User {
  if (stored === undefined || !user.passwords.includes(stored)) {
    throw refused('<…', 'The password you are trying to remove from the user does not exist')
  }
  return { ...user, passwords: user.passwords.filter((other) => other !== stored) }
}

function checkedPassword(password: string, index: number): string {
  const bytes = Buffer.byteLength(password)
  if (bytes > 0 && bytes <= passwordBytesMax) return password
  throw new FahaoError(
    'ERR',
    `the password in argument ${index + 1} must have 1 to ${passwordBytesMax} bytes`,
  )
}

function refused(rule: string, reason: string): FahaoError {
  return new FahaoError('ERR', `Error in ACL SETUSER modifier '${rule.slice(0, 64)}': ${reason}`)
}

/** The rules that make this user out of nothing: a line of ACL LIST after the name. */
export function rulesOf(user: User): string[] {
  return [
    user.enabled ? 'on' : 'off',
    ...(user.nopass ? ['nopass'] : []),
    ...user.passwords.map((stored) => `#${stored}`),
    ...user.patterns.map((pattern) => `~${pattern}`),
    ...user.commands,
  ]
}

/**
 * Checks the name of a user: as those of generators, without a slash, which separates parts of keys, and without a colon,
 * which ends the name in Basic credentials (RFC 7617): another user would be asked for. Errors: ERR.
 */
export function checkUserName(name: string): void {
  if (/^[^\s\p{Cc}/:]+$/u.test(name) && Buffer.byteLength(name) <= 128) return
  throw new FahaoError(
    'ERR',
    'a user name has 1 to 128 bytes, without white space, control characters, slashes and colons',
  )
}

const storedShape = z.object({
  enabled: z.boolean(),
  nopass: z.boolean(),
  passwords: z.array(z.string()),
  patterns: z.array(z.string()),
  commands: z.array(z.string()),
  /** Grows with every change of this name, also past its removal. */
  revision: z.int(),
  /** The revision with which the user was created; tokens of an earlier user of this name are void. */
  since: z.int().optional(),
  /** Random: tells whose write it was. */
  change: z.string(),
  /** Set when the user was removed; its record stays, so that a store that went back is noticed. */
  removed: z.boolean().optional(),
  /** When it was removed, in Unix ms; absent in records of earlier versions. */
  removedMs: z.int().optional(),
})

/** A user's record: the user, or that it was removed. */
export type StoredUser = {
  readonly user: User
  readonly revision: number
  /** The revision with which it was created. */
  readonly since: number
  readonly change: string
  /** When it was removed, in Unix ms; undefined: it was not. */
  readonly removedMs: number | undefined
}

/** The value of a record. */
export function writeStored({ user, revision, since, change, removedMs }: StoredUser): string {
  const { name: _, ...rest } = user
  const removal = removedMs !== undefined && { removed: true, removedMs }
  return JSON.stringify({ ...rest, revision, since, change, ...removal })
}

/** Reads the value of a record; undefined if this version of Fahao does not understand it. */
export function readStored(name: string, value: string): StoredUser | undefined {
  try {
    const { revision, since = 0, change, removed, removedMs, ...rest } = storedShape.parse(JSON.parse(value))
    const user = { name, ...rest }
    return { user, revision, since, change, removedMs: removed ? (removedMs ?? 0) : undefined }
  } catch {
    return undefined
  }
}

/** What is known of a user whose record cannot be read; every record that can be read has a higher revision. */
export function unreadable(name: string): StoredUser {
  return { user: newUser(name), revision: 0, since: 0, change: '', removedMs: undefined }
}

/** The error for a change that would leave no user that can change users. */
export function withoutAdministrator(): FahaoError {
  return new FahaoError(
    'ERR',
    'after this change no user could change users; first create one that can: ACL SETUSER admin on >PASSWORD ~* +@all',
  )
}
