/** Puts a fault into a copy of the source, and sees whether a test or the simulation finds it. */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInParallel } from '../sim/parallel.ts'
import type { Edit, Mutation } from './mutations.ts'

const root = join(import.meta.dirname, '..', '..')

/** A test that hangs on a fault fails after this. */
const hangMs = 300_000

/** How the simulation found a fault: after how many seeds, undefined: it did not; and the first violation. */
export type Found = { readonly seeds: number | undefined; readonly message: string }

/** The files with the fault in them. Throws if a text that it replaces does not occur exactly once. */
export function mutated(mutation: Mutation): ReadonlyMap<string, string> {
  const edits = [mutation, ...(mutation.also ?? [])]
  return new Map(edits.map((edit) => [edit.file, edited(edit, mutation.fault)]))
}

function edited({ file, from, to }: Edit, fault: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  if (text.split(from).length !== 2)
    throw new Error(`'${fault}' no longer fits ${file}: correct test/mutations/mutations.ts`)
  return text.replace(from, () => to)
}

/** The title of the first test of `foundBy` that fails on the changed source; undefined: none fails. */
export async function failingTest(mutation: Mutation): Promise<string | undefined> {
  return inCopy(mutation, async (copy) => {
    const options = ['--test', '--test-reporter=tap', `--test-timeout=${hangMs}`]
    const child = spawn(process.execPath, [...options, mutation.foundBy], {
      cwd: copy,
      env: withoutTestContext(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    if (code === 0) return undefined
    return /^ *not ok \d+ - (.*)$/m.exec(output)?.[1] ?? `node --test exited with ${code}`
  })
}

/** Searches up to `seeds` seeds of the mutation's scenario for a violation. */
export async function violatingSeed(
  mutation: Mutation & { readonly scenario: string },
  seeds: number,
): Promise<Found> {
  return inCopy(mutation, async (copy) => {
    const { scenario } = mutation
    const tally = await runInParallel(
      { scenario, first: 0, count: seeds, untilFound: true },
      join(copy, 'test', 'sim'),
    )
    const [first] = tally.violations.toSorted((a, b) => a.seed - b.seed)
    return { seeds: first && first.seed + 1, message: first?.message.split('\n')[0] ?? '' }
  })
}

async function inCopy<Result>(mutation: Mutation, run: (copy: string) => Promise<Result>): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), 'fahao-mutation-'))
  try {
    for (const part of [
      'src',
      'client/src',
      'client/package.json',
      'test',
      'scripts',
      'docs',
      'package.json',
      'tsconfig.json',
    ])
      cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    for (const [file, text] of mutated(mutation)) writeFileSync(join(copy, file), text)
    return await run(copy)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** node --test refuses to run inside a test; the variable tells it that it does. */
function withoutTestContext(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  return environment
}
