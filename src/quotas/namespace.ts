/** A namespace: a pattern of generator names, an owner, and limits for the requests that it counts. */
import { z } from 'zod'
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'

function count(maximum: number, meaning: string, minimum = 1) {
  const wanted = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .union([z.string().regex(/^\d{1,16}$/, wanted), z.int(wanted)], wanted)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, wanted)
    .optional()
    .meta({ type: 'integer', minimum, maximum, description: meaning })
}

function word(bytesMax: number, meaning: string) {
  const wanted = `must be text of 1 to ${bytesMax} bytes without white space and control characters`
  return z
    .string(wanted)
    .refine((text) => /^[^\s\p{Cc}\p{Cs}]+$/u.test(text) && Buffer.byteLength(text) <= bytesMax, wanted)
    .meta({ description: meaning })
}

function optionalWord(bytesMax: number, meaning: string) {
  return word(bytesMax, meaning).optional().meta({ description: meaning })
}

/** Every option of a namespace. A limit that is absent does not apply. */
export const namespaceOptions = z
  .strictObject({
    match: word(512, 'a glob pattern of generator names: * ? [a-z]'),
    owner: optionalWord(128, 'the team that errors and metrics name'),
    user: optionalWord(256, 'counts requests of this user only'),
    idsPerSecond: count(1e9, 'ids per second and node, with a burst of one second'),
    idsPerDay: count(Number.MAX_SAFE_INTEGER, 'ids per day (UTC) and node, since its start'),
    generators: count(1e9, 'how many generators may match, of all users'),
    leases: count(
      1e6,
      'how many worker ids callers may hold of generators and pools that match; 0 of generators, unless it is given, where ids are limited',
      0,
    ),
    waiting: count(1e6, 'how many requests may wait for ids at once, per node'),
  })
  .meta({ id: 'NamespaceOptions' })

/** The options as words of ID.NAMESPACE SET, and in lower case as flags of `fahao namespace set`. */
export const optionWords = Object.freeze({
  match: 'MATCH',
  owner: 'OWNER',
  user: 'USER',
  idsPerSecond: 'RATE',
  idsPerDay: 'DAILY',
  generators: 'GENERATORS',
  leases: 'LEASES',
  waiting: 'WAITING',
} as const satisfies Record<keyof NamespaceOptions, string>)

/** The patterns of namespaces, compiled. */
const matchers = new WeakMap<object, (name: string) => boolean>()

/** Whether the generator of this name is in the namespace. Which user asks for its ids does not matter. */
export function includes(namespace: { readonly match: string }, generator: string): boolean {
  const known = matchers.get(namespace) ?? globMatcher(namespace.match)
  matchers.set(namespace, known)
  return known(generator)
}

/** A namespace without its name. */
export type NamespaceOptions = z.output<typeof namespaceOptions>

/** A namespace. */
export type Namespace = NamespaceOptions & { readonly name: string }

const names = word(64, 'its name')

/** The options that a request gives. ERR names each that is wrong. */
export function readNamespace(name: string, input: unknown): Namespace {
  if (!names.safeParse(name).success || name.includes('/'))
    throw new FahaoError(
      'ERR',
      'the name of a namespace has 1 to 64 bytes, and neither white space nor a slash',
    )
  const read = namespaceOptions.safeParse(input)
  if (!read.success) throw new FahaoError('ERR', read.error.issues.map(issueText).join('; '))
  const options = read.data
  if (options.user !== undefined && options.generators !== undefined)
    throw new FahaoError(
      'ERR',
      'a namespace counts the generators of all users: leave out USER (user) or GENERATORS (generators)',
    )
  return { name, ...options }
}

function issueText({ path, message }: { path: PropertyKey[]; message: string }): string {
  const option = String(path[0] ?? '')
  const word = optionWords[option as keyof NamespaceOptions]
  return word === undefined ? message : `${word} (${option}) ${message}`
}

/** `namespace 'shop' of team-a`, for readers that may name all of its pattern. */
export function titleOf({ name, owner }: Namespace): string {
  return owner === undefined ? `namespace '${name}'` : `namespace '${name}' of ${owner}`
}

/** An error about a namespace: its name and its owner are for readers that may name all of its pattern. `what`: the rest of the sentence. */
export function namespaceError(
  code: ErrorCode,
  namespace: Namespace,
  what: string,
  retryAfterMs?: number,
): FahaoError {
  const fuller = { pattern: namespace.match, message: `${titleOf(namespace)} ${what}` }
  return new FahaoError(code, `a namespace ${what}`, {
    fuller,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
