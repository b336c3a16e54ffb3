/** A token as it is stored, its text `fahao_ID_SECRET`, and the rules of its scope. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { secretBytes } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Subjects } from './command-rules.ts'
import type { Passwords } from './passwords.ts'
import { newUser, patternBytes, readRules } from './user.ts'

/** Times are Unix time in ms. */
const storedShape = z.object({
  user: z.string(),
  /** The revision with which the user was created. */
  userSince: z.int(),
  /** The SHA-256 of the secret, in hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  label: z.string(),
  /** Globs of the names of generators; undefined: those of the user. */
  patterns: z.array(z.string()).optional(),
  /** Rules of commands; undefined: those of the user. */
  commands: z.array(z.string()).optional(),
  createdMs: z.number(),
  createdBy: z.string(),
  /** Undefined: never. */
  expiresMs: z.number().optional(),
  revokedMs: z.number().optional(),
})

/** A token's record. It changes once at most: when it is revoked. */
export type Token = Readonly<z.output<typeof storedShape>> & { readonly id: string }

/** The scope of a token: what it may do of what its user may. */
export type TokenScope = Pick<Token, 'patterns' | 'commands'>

const labelBytesMax = 128
const patternsMax = 32
const patternsMaxBytes = 2048
const form = /^fahao_([0-9a-f]{16})_([\w-]{43})$/
/** Replaces a missing token's hash. */
const noHash = secretBytes(32)

/** The value of a record. */
export function writeToken({ id: _, ...stored }: Token): string {
  return JSON.stringify(stored)
}

/** Reads the value of a record; undefined if this version of Fahao does not understand it. */
export function readToken(id: string, value: string): Token | undefined {
  try {
    return { id, ...storedShape.parse(JSON.parse(value)) }
  } catch {
    return undefined
  }
}

/** A new token's id, its text, and the hash of its secret of 256 random bits. */
export function newSecret(): { readonly id: string; readonly text: string; readonly hash: string } {
  const id = Buffer.from(secretBytes(8)).toString('hex')
  const secret = Buffer.from(secretBytes(32)).toString('base64url')
  return { id, text: `fahao_${id}_${secret}`, hash: hashOf(secret).toString('hex') }
}

/** Whether a text has the form of a token. */
export function isTokenText(text: string): boolean {
  return form.test(text)
}

/** The token with this text. An unknown id takes the time of a wrong secret. */
export function findToken(text: string, tokens: (id: string) => Token | undefined): Token | undefined {
  const [, id = '', secret = ''] = form.exec(text) ?? []
  const token = tokens(id)
  const stored = token === undefined ? noHash : Buffer.from(token.hash, 'hex')
  return timingSafeEqual(hashOf(secret), stored) ? token : undefined
}

/** Reads the rules of a token, `~order*` and `+@issue` as those of users. ERR names the first that is wrong. */
export async function readTokenScope(
  rules: readonly string[],
  subjects: Subjects,
  passwords: Passwords,
): Promise<TokenScope> {
  const isPattern = (rule: string) => rule.startsWith('~')
  const isCommand = (rule: string) => /^[+-]/.test(rule)
  const other = rules.findIndex((rule) => !isPattern(rule) && !isCommand(rule))
  // Without the rule's text: it may have a password in it.
  if (other >= 0) {
    throw new FahaoError(
      'ERR',
      `rule ${other + 1} is no rule of a token; write patterns ~order* and commands +@issue`,
    )
  }
  let narrowed = newUser('')
  for (const change of readRules(rules, subjects, passwords)) narrowed = await change(narrowed)
  const { patterns } = narrowed
  if (patterns.length > patternsMax || patternBytes(patterns) > patternsMaxBytes) {
    throw new FahaoError(
      'LIMIT',
      `a token has at most ${patternsMax} patterns of at most ${patternsMaxBytes} bytes together; write fewer, or leave them out: a token never names more than its user may`,
    )
  }
  return {
    ...(rules.some(isPattern) && { patterns: [...patterns] }),
    ...(rules.some(isCommand) && { commands: [...narrowed.commands] }),
  }
}

/** Checks the label of a token. Errors: ERR. */
export function checkLabel(label: string): void {
  if (/^\P{Cc}*$/u.test(label) && Buffer.byteLength(label) <= labelBytesMax) return
  throw new FahaoError('ERR', `a label has at most ${labelBytesMax} bytes, without control characters`)
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
