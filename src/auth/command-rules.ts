/**
 * The commands that a user may run, as Redis's ACL rules write them: `+incr`, `-@admin`, `+client|list`, `+@all`. Rules
 * apply from left to right, and a later one overrides an earlier one. `user.ts` has a user's other rules, such as `~order:*`.
 */

/** What a rule can name: a command `incr`, a subcommand `client|list`, an operation that only HTTP has `http|metrics`. */
export type Subject = {
  readonly name: string
  /** Its categories, without `@`. */
  readonly categories: readonly string[]
  /** Whether nodes forward it to each other. */
  readonly isForwarded?: boolean
}

/** What rules can name, on this version of Fahao. */
export class Subjects {
  readonly all: readonly Subject[]
  readonly categories: readonly string[]
  /** The names of the commands that nodes forward to each other. */
  readonly forwardable: ReadonlySet<string>
  readonly #containers: ReadonlySet<string>
  readonly #names: ReadonlySet<string>

  constructor(all: readonly Subject[]) {
    this.all = all
    this.categories = [...new Set(all.flatMap(({ categories }) => categories))].sort()
    this.forwardable = new Set(all.flatMap(({ name, isForwarded }) => (isForwarded ? name : [])))
    this.#names = new Set(all.map(({ name }) => name))
    this.#containers = new Set(all.flatMap(({ name }) => (name.includes('|') ? [name.split('|')[0]!] : [])))
  }

  /** Whether a rule can name it: `incr`, `client`, `client|list`, `@issue`, `@all`. */
  knows(target: string): boolean {
    if (target.startsWith('@')) return target === '@all' || this.categories.includes(target.slice(1))
    return this.#names.has(target) || this.#containers.has(target)
  }

  /** The names of the commands that these rules permit; undefined: every command. */
  permitted(rules: readonly string[]): ReadonlySet<string> | undefined {
    const last = rules.at(-1)
    if (last === '+@all') return undefined
    const permitted = new Set<string>()
    for (const rule of rules) {
      for (const subject of this.all) {
        if (!isMeant(rule.slice(1), subject)) continue
        if (rule.startsWith('+')) permitted.add(subject.name)
        else permitted.delete(subject.name)
      }
    }
    return permitted
  }
}

/** The rules of a new user: what every client library sends to open a connection, and nothing that names a generator. */
export const initialRules: readonly string[] = Object.freeze(['-@all', '+@connection'])

/** Adds a rule. Earlier rules that it overrides as a whole are removed, so that rules do not grow without bound. */
export function withRule(rules: readonly string[], rule: string): string[] {
  const target = rule.slice(1)
  if (target === '@all') return [rule]
  return [...rules.filter((earlier) => earlier.slice(1) !== target), rule]
}

function isMeant(target: string, { name, categories }: Subject): boolean {
  if (target.startsWith('@')) return target === '@all' || categories.includes(target.slice(1))
  return name === target || name.startsWith(`${target}|`)
}
