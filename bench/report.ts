/** The report of a benchmark, as data and as Markdown. */
import type { Spread } from './rounds.ts'

/** What a figure must reach (`least`) or may not pass (`most`). */
export type Budget =
  | { readonly least: number; readonly aim?: number }
  | { readonly most: number; readonly aim?: number }

/** One figure: the median of several rounds. */
export type Figure = Spread & {
  readonly what: string
  /** `×` for ratios. */
  readonly unit: string
  /** Absent: for information. */
  readonly budget?: Budget
}

/** One section of a run. */
export type Section = {
  readonly name: string
  /** The method of measurement, in a sentence or two. */
  readonly how: string
  readonly figures: readonly Figure[]
}

/** One run. */
export type Report = {
  readonly about: Readonly<Record<string, string>>
  readonly sections: readonly Section[]
}

/** A figure relative to its budget: `aim` reached, only the `floor`, or `short` of it. */
export function verdict({ value, budget }: Figure): 'aim' | 'floor' | 'short' | undefined {
  if (budget === undefined) return undefined
  const reaches = (wanted: number) => ('least' in budget ? value >= wanted : value <= wanted)
  if (!reaches('least' in budget ? budget.least : budget.most)) return 'short'
  return budget.aim === undefined || reaches(budget.aim) ? 'aim' : 'floor'
}

/** The whole report, to be pasted into RESULTS.md. */
export function markdownOf({ about, sections }: Report): string {
  const head = Object.entries(about).map(([name, value]) => `- ${name}: ${value}`)
  return [...head, '', ...sections.flatMap(sectionLines)].join('\n')
}

/** One section as a heading, a sentence and a table. */
export function sectionLines({ name, how, figures }: Section): string[] {
  return [
    `### ${name}`,
    '',
    how,
    '',
    '| what | median | all rounds | budget | |',
    '|---|---:|---|---|---|',
    ...figures.map((figure) => {
      const { what, unit, value, low, high } = figure
      const span = low === high ? '' : `${numberText(low)} – ${numberText(high)}`
      return `| ${what} | ${numberText(value)} ${unit} | ${span} | ${budgetText(figure)} | ${markOf(figure)} |`
    }),
    '',
  ]
}

function budgetText({ budget }: Figure): string {
  if (budget === undefined) return ''
  const floor = 'least' in budget ? `≥ ${numberText(budget.least)}` : `≤ ${numberText(budget.most)}`
  return budget.aim === undefined ? floor : `${floor}, aim ${numberText(budget.aim)}`
}

function markOf(figure: Figure): string {
  const marks = { aim: 'pass', floor: 'pass, short of the aim', short: '**SHORT**' }
  const reached = verdict(figure)
  return reached === undefined ? '' : marks[reached]
}

/** Three significant digits, thousands apart. */
function numberText(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en-US', {
    minimumFractionDigits: 0,
    maximumFractionDigits: Math.min(digits, 4),
  })
}
