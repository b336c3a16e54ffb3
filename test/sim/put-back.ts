/** Puts a fault back into a copy of the source, and looks for the first seed that finds it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutation } from './mutations.ts'
import { runInParallel } from './parallel.ts'

const root = join(import.meta.dirname, '..', '..')

/** How a fault was found: the number of seeds that it took, undefined: it was not; and what was wrong then. */
export type Found = { readonly seeds: number | undefined; readonly message: string }

/** The file with the fault in it. Throws where the text that it changes does not stand there exactly once. */
export function mutated({ file, from, to, fault }: Mutation): string {
  const text = readFileSync(join(root, file), 'utf8')
  if (text.split(from).length !== 2)
    throw new Error(`'${fault}' no longer fits ${file}: mend test/sim/mutations.ts`)
  return text.replace(from, () => to)
}

/** Looks for it in up to `seeds` seeds. */
export async function putBack(mutation: Mutation, seeds: number): Promise<Found> {
  const copy = mkdtempSync(join(tmpdir(), 'fahao-sim-'))
  try {
    for (const part of ['src', 'test/sim', 'package.json'])
      cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, mutation.file), mutated(mutation))
    const { scenario } = mutation
    const tally = await runInParallel(
      { scenario, first: 0, count: seeds, untilFound: true },
      join(copy, 'test', 'sim'),
    )
    const [first] = tally.violations.toSorted((a, b) => a.seed - b.seed)
    return { seeds: first && first.seed + 1, message: first?.message.split('\n')[0] ?? '' }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
