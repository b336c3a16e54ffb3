import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { FahaoError } from '../../base/errors.ts'
import { type ExportedLine, hashAfter, noHash } from '../../issuing/ledger/ledger-reading.ts'
import type { LedgerPage } from '../../operations/ledger.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { print } from '../terminal.ts'

/** The first line of an export: what the hash of the next one continues. */
type Head = { readonly ledger: string; readonly previous: string; readonly closed: LedgerPage['closed'] }

/** A line behind it. Of what is not closed it has no hash: it may change. */
type Line = ExportedLine & { readonly hash?: string }

const pageMax = '1000'

/** `fahao ledger` */
export function addLedger(command: Command): void {
  command.description(
    'Prints the lines of a ledger as JSON, one in a line, those that are closed with the hashes that chain them; or checks such an export, without a server.',
  )
  addServerOptions(command)
    .option('--verify <FILE>', 'check an export instead: `-` is the standard input')
    .addHelpText(
      'after',
      `
Examples:
  fahao ledger invoice > invoice-2026.jsonl
  fahao ledger --verify invoice-2026.jsonl`,
    )
    .action(async (name: string | undefined, options: ServerOptions & { verify?: string }) => {
      if ((name === undefined) === (options.verify === undefined))
        throw new UsageError('name a generator, or give --verify FILE, one of the two')
      if (name !== undefined) return exportLedger(name, options)
      const path = options.verify === '-' ? '/dev/stdin' : options.verify!
      print(verified(readFileSync(path, 'utf8')))
    })
}

async function exportLedger(name: string, options: ServerOptions): Promise<void> {
  let hash: string | undefined
  let through = -1n
  for (let from: string | null = '0'; from !== null; ) {
    const query = { from, count: pageMax }
    const page: LedgerPage = await ask(options, 'GET', generatorPath(name, '/ledger'), { query })
    if (hash === undefined) {
      hash = page.removed?.hash ?? noHash
      through = BigInt(page.closed?.through ?? -1)
      const head: Head = { ledger: name, previous: hash, closed: page.closed }
      print(JSON.stringify(head))
    }
    for (const line of page.lines as readonly ExportedLine[]) {
      const isClosed = BigInt(line.to ?? line.number) <= through
      if (isClosed) hash = hashAfter(hash, line)
      print(JSON.stringify(isClosed ? { ...line, hash } : line))
    }
    from = page.next
  }
}

/** What an export proves. Throws ERR where it does not fit together. */
export function verified(text: string): string {
  const [first, ...lines] = text.split('\n').filter((line) => line !== '')
  const { ledger, previous, closed } = read<Head>(first ?? '', 1)
  if (typeof previous !== 'string') throw wrong(1, 'is no head of an export')
  if (closed === null || closed === undefined) return `nothing of ledger '${ledger}' is closed`
  let hash = previous
  let last: bigint | undefined
  let count = 0
  for (const [at, each] of lines.entries()) {
    const line = read<Line>(each, at + 2)
    if (line.hash === undefined) break
    if (last !== undefined && BigInt(line.number) !== last + 1n)
      throw wrong(at + 2, `does not follow ${last}`)
    hash = hashAfter(hash, line)
    if (hash !== line.hash) throw wrong(at + 2, 'or one before it was changed: its hash is another')
    last = BigInt(line.to ?? line.number)
    count++
  }
  if (hash !== closed.hash || (last !== undefined && String(last) !== closed.through))
    throw new FahaoError('ERR', `the lines do not end with the close of ${closed.through}; export them again`)
  return `${count} lines of ledger '${ledger}' up to ${closed.through} are as they were closed, with hash ${hash}`
}

function read<Value>(text: string, number: number): Value {
  try {
    return JSON.parse(text)
  } catch {
    throw wrong(number, 'is no JSON')
  }
}

function wrong(line: number, why: string): FahaoError {
  return new FahaoError('ERR', `line ${line} ${why}; compare the file with another export of the ledger`)
}
