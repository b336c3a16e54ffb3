/** The outcomes of clients as a table of Markdown. */
import type { Outcome } from './scene.ts'

/** Its columns, and the steps that each sums up. */
const columns: Readonly<Record<string, readonly string[]>> = {
  'single row': ['single', 'single-bound', 'set', 'unlisted', 'after'],
  'several rows': ['multi', 'multi-bound', 'mixed'],
  prepared: ['prepared', 'prepared-ids'],
  batch: ['batch', 'batch-ids'],
  'several statements': ['statements'],
  'rolled back': ['rollback'],
  committed: ['commit'],
  NULL: ['null', 'null-bound'],
  zero: ['zero', 'zero-bound'],
  DEFAULT: ['default'],
  'given id': ['explicit', 'explicit-bound'],
  'ON DUPLICATE KEY UPDATE': ['duplicate', 'duplicate-same', 'duplicate-new', 'duplicate-prepared'],
  'IGNORE, REPLACE': ['ignore', 'replace'],
  error: ['clash'],
}

/** One row for each client: `✓` where all is as without the proxy, `–` where the client has no such thing. */
export function tableOf(clients: ReadonlyMap<string, readonly Outcome[]>): string {
  const names = Object.keys(columns)
  const rows = [...clients].map(([client, outcomes]) => [
    client,
    ...names.map((name) => cell(outcomes, columns[name]!)),
  ])
  return [['client', ...names], ['---', ...names.map(() => '---')], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

function cell(outcomes: readonly Outcome[], steps: readonly string[]): string {
  const own = outcomes.filter(({ step, direct }) => steps.includes(step) && direct !== 'absent')
  if (own.length === 0) return '–'
  const differing = own.filter(({ direct, proxied }) => direct !== proxied).map(({ step }) => step)
  return differing.length === 0 ? '✓' : `differs: ${differing.join(', ')}`
}
