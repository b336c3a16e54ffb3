/** What a verb proves to a server: a token, or a user with its password. No secret is ever an argument. */
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { describe } from '../base/errors.ts'
import { UsageError } from './exit-codes.ts'

/** Options of verbs that authenticate. */
export type CredentialOptions = { readonly user?: string; readonly tokenFile?: string }

/** What to do about a request that was refused for its credentials. */
export const credentialAdvice =
  'give --user NAME with its password in FAHAO_PASSWORD, or a token in FAHAO_TOKEN or --token-file FILE'

/** Adds --user and --token-file to `command`. */
export function addCredentialOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--user <NAME>', 'the user to log in as; its password is FAHAO_PASSWORD, or asked for').env(
        'FAHAO_USER',
      ),
    )
    .addOption(
      new Option('--token-file <FILE>', 'a file with a token; or give the token in FAHAO_TOKEN').env(
        'FAHAO_TOKEN_FILE',
      ),
    )
}

/** The Authorization header; undefined: no credentials are given. A user goes before a token. */
export async function authorizationOf(
  options: CredentialOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const { username, password, token } = await passwordOrToken(options, env)
  if (username !== undefined) return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return token ? `Bearer ${token}` : undefined
}

/** As `authorizationOf`, for a client that makes the header itself; empty: no credentials are given. */
export async function passwordOrToken(
  { user, tokenFile }: CredentialOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ username?: string; password?: string; token?: string }> {
  if (user !== undefined) {
    const password = env.FAHAO_PASSWORD || (await askPassword(`Password of ${user}: `, 'set FAHAO_PASSWORD'))
    return { username: user, password }
  }
  const token = tokenFile === undefined ? env.FAHAO_TOKEN : readToken(tokenFile)
  return token ? { token } : {}
}

const asked = new Map<string, Promise<string>>()

/** Asks twice for a new password, because it is not shown. UsageError if the two differ, and without a terminal. */
export async function askNewPassword(user: string): Promise<string> {
  const instead = 'give it with --password-stdin'
  const password = await askPassword(`New password of ${user}: `, instead)
  if (password === (await askPassword(`The new password of ${user} again: `, instead))) return password
  throw new UsageError('the two passwords differ; nothing was changed')
}

/** Asks once for a password on the terminal, without an echo. UsageError without a terminal, which says what to do `instead`. */
function askPassword(prompt: string, instead: string): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new UsageError(`no password: ${instead}, or run this on a terminal, which asks for it`)
  }
  const answer = asked.get(prompt) ?? readHidden(prompt)
  asked.set(prompt, answer)
  return answer
}

async function readHidden(prompt: string): Promise<string> {
  process.stderr.write(prompt)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** A password from stdin, without the line's end. */
export async function passwordFromStdin(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`--token-file: ${file} cannot be read: ${describe(error)}`)
  }
}
