/** What the caller of a request may do: the commands of its user, and the generators that it may name. */
import { FahaoError } from '../base/errors.ts'
import { globMatcher, matchWork } from '../base/glob.ts'
import type { Subjects } from './command-rules.ts'
import { commonRanges, type NameRange, rangesOf } from './name-ranges.ts'
import type { User } from './user.ts'

/** The command that changes users. */
export const administering = 'acl|setuser'

type Origin = { readonly isForwarded?: boolean; readonly token?: string; readonly within?: Access }

/**
 * The permissions of a user at one moment. A change of the user makes a new object, so that results that were kept for
 * one of these are not used under another.
 */
export class Access {
  /** Empty: not authenticated. */
  readonly user: string
  /** Whether it may do everything with every generator. */
  readonly unrestricted: boolean
  /** Whether every generator may be named. */
  readonly reachesAll: boolean
  /** Whether a node has proven that it forwards requests of the user. */
  readonly isForwarded: boolean
  /** The token that the caller has presented; undefined: none. */
  readonly token: string | undefined
  readonly #commands: ReadonlySet<string> | undefined
  readonly #within: Access | undefined
  readonly #patterns: readonly string[]
  readonly #matchers: readonly ((name: string) => boolean)[]
  #ranges: readonly NameRange[] | undefined
  /** The longest time of `reaches`, as the bytes of a reply that take as long. */
  readonly work: number

  /**
   * @param commands the names of the commands that are permitted; undefined: every command.
   * @param origin `within`: of a token or of forwarded requests, the permissions of the user, which must permit a generator as well.
   */
  constructor(
    user: string,
    commands: ReadonlySet<string> | undefined,
    patterns: readonly string[],
    { isForwarded = false, token, within }: Origin = {},
  ) {
    this.user = user
    this.isForwarded = isForwarded
    this.token = token
    this.#commands = commands
    this.#within = within
    this.#patterns = patterns
    this.#matchers = patterns.map(globMatcher)
    this.reachesAll = patterns.includes('*') && this.#within?.reachesAll !== false
    this.work = this.reachesAll
      ? 0
      : patterns.reduce((sum, pattern) => sum + matchWork(pattern), within?.work ?? 0)
    this.unrestricted = commands === undefined && this.reachesAll
  }

  /** The permissions that the rules of a user give. */
  static of({ name, commands, patterns }: User, subjects: Subjects): Access {
    return new Access(name, subjects.permitted(commands), patterns)
  }

  /**
   * The part of these permissions that holds for requests that another node forwards.
   * @param forwardable the commands that nodes forward.
   * @param greetings those that nodes send of their own accord.
   */
  forwarded(forwardable: ReadonlySet<string>, greetings: readonly string[]): Access {
    const commands = new Set([...forwardable].filter((name) => this.allows(name)).concat(greetings))
    return new Access(this.user, commands, ['*'], { within: this, isForwarded: true })
  }

  /** What these permissions and those of a token have in common: never more than these. Undefined: as these. */
  narrowedBy(
    token: string,
    commands: ReadonlySet<string> | undefined,
    patterns: readonly string[] = ['*'],
  ): Access {
    const own = this.#commands
    const common =
      commands && own ? new Set([...commands].filter((name) => own.has(name))) : (commands ?? own)
    return new Access(this.user, common, patterns, { within: this, token })
  }

  /** Whether the caller may change users, and with that everything; of forwarded requests, whether its user may. */
  get administers(): boolean {
    if (this.isForwarded && this.#within !== undefined) return this.#within.administers
    return this.allows(administering)
  }

  /** Whether the command `incr`, `client|list` or `http|metrics` is permitted. */
  allows(command: string): boolean {
    return this.#commands === undefined || this.#commands.has(command)
  }

  /** Whether this generator may be named. */
  reaches(name: string): boolean {
    if (this.reachesAll) return true
    return this.#within?.reaches(name) !== false && this.#matchers.some((matches) => matches(name))
  }

  /** Where all names lie that may be named, in byte order. */
  get ranges(): readonly NameRange[] {
    const own = () => rangesOf(this.#patterns)
    this.#ranges ??= this.#within === undefined ? own() : commonRanges(own(), this.#within.ranges)
    return this.#ranges
  }
}

/** The permissions of a connection that has not authenticated: none. */
export const unauthenticated = new Access('', new Set(), [])

/** The permissions where there are no users: everything. */
export const everything = new Access('default', undefined, ['*'])

/** Throws NOPERM in Redis's words, and the rule that is missing, unless the caller may run the command with the generator. */
export function demandPermission(caller: Access, command: string, generator?: string): void {
  const isAllowed = caller.allows(command)
  if (isAllowed && (generator === undefined || caller.reaches(generator))) return
  const [reason, rule] = isAllowed
    ? ['No permissions to access a key', `~${generator}`]
    : [`User ${caller.user} has no permissions to run the '${command}' command`, `+${command}`]
  const remedy =
    caller.token === undefined
      ? `an administrator can permit it to ${caller.user} by the rule ${rule}`
      : `the rules of the token and those of its user must both permit it: ${rule}`
  throw new FahaoError('NOPERM', `${reason}; ${remedy}`)
}

/** One for all requests: most of the time of such a refusal would go into the stack of the error. */
const noLogin = new FahaoError('NOAUTH', 'Authentication required.')

/** Throws unless the user may run the command or operation of this name: NOAUTH, NOPERM. */
export function demandCommand(caller: Access, name: string): void {
  if (caller.user === '') throw noLogin
  if (caller.allows(name)) return
  throw new FahaoError('NOPERM', `User ${caller.user} has no permissions to run the '${name}' command`)
}

/** The names whose use was refused, by the error. */
const refusedNames = new WeakMap<object, string>()

/** Throws unless the user may name this generator: NOPERM. */
export function demandName(caller: Access, generator: string): void {
  if (caller.reaches(generator)) return
  const error = new FahaoError('NOPERM', 'No permissions to access a key')
  refusedNames.set(error, generator)
  throw error
}

/** The name for which `demandName` has thrown this error; undefined: another one was thrown. */
export function refusedName(error: unknown): string | undefined {
  return refusedNames.get(error as object)
}
