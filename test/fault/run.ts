/**
 * The long fault runs: `FAULT_ROUNDS=200 npm run test:fault [file …]`. Runs every campaign with many rounds, one
 * after another, and ends with a table of what was found, in Markdown. Exits with 1 when a campaign failed.
 */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { Finding } from './campaign.ts'

const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync(join(import.meta.dirname, '**/*.test.ts')).sort()
const folder = mkdtempSync(join(tmpdir(), 'fahao-faults-'))
const reportFile = join(folder, 'findings.jsonl')
process.env.FAULT_ROUNDS ??= '200'
process.env.FAULT_REPORT = reportFile

const tests = run({ files, concurrency: 1 })
tests.on('test:fail', () => {
  process.exitCode = 1
})
tests.compose(spec).pipe(process.stdout, { end: false })
tests.on('end', () => {
  console.log(table(findings()).join('\n'))
  rmSync(folder, { recursive: true })
})

function findings(): Finding[] {
  if (!existsSync(reportFile)) return []
  const lines = readFileSync(reportFile, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Finding)
}

function table(rows: readonly Finding[]): string[] {
  return [
    '',
    '| campaign | rounds | ids | repeats | out of order | above bound | back after: median | longest |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(({ campaign, rounds, ids, repeats, disorder, aboveBound, recoveriesMs }) => {
      const times = [...recoveriesMs].sort((a, b) => a - b)
      const median = milliseconds(times[Math.floor(times.length / 2)])
      const figures = [rounds, ids, repeats, disorder, aboveBound ?? '–', median, milliseconds(times.at(-1))]
      return `| ${[campaign, ...figures.map((figure) => figure.toLocaleString('en'))].join(' | ')} |`
    }),
  ]
}

function milliseconds(ms: number | undefined): string {
  return ms === undefined ? '–' : `${Math.round(ms).toLocaleString('en')} ms`
}
