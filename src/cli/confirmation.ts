/** Agreement to what cannot be undone: a terminal is asked, and a script gives it by --yes. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { UsageError } from './exit-codes.ts'

/** What `confirm` reads. */
export type Confirmed = { readonly yes?: true }

/** Adds --yes to `command`. */
export function addYes(command: Command): Command {
  return command.option('--yes', 'do not ask first; needed where there is no terminal')
}

/**
 * Resolves if --yes is given, or a terminal answers with yes. @param what is done, and what that means. Rejects with
 * UsageError otherwise: nothing may be changed then.
 */
export async function confirm({ yes }: Confirmed, what: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new UsageError(`this cannot be undone (${what}), and nothing was changed; repeat it with --yes`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // Control-D and Control-C end the input without an answer: some versions of Node.js reject then, others do nothing.
  const closed = once(lines, 'close').then(() => 'no')
  try {
    const asked = lines.question(`${what}. Go on? (yes or no): `).catch(() => 'no')
    const answer = await Promise.race([asked, closed])
    if (/^y(?:es)?$/i.test(answer.trim())) return
  } finally {
    lines.close()
  }
  throw new UsageError('nothing was changed')
}
