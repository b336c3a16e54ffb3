/** A page of the documentation as steps to carry out: its fenced blocks, by the headings that they stand under. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One block to carry out. */
export type Step = {
  readonly language: string
  readonly text: string
  /** The headings above it, outermost first. */
  readonly headings: readonly string[]
  readonly line: number
  /** What a `text` block right below says that it prints. */
  readonly shown: string | undefined
}

const folder = join(import.meta.dirname, '../../../docs/operating/migrations')

/** The steps of the page of this name. */
export function stepsOf(name: string): readonly Step[] {
  const lines = readFileSync(join(folder, `${name}.md`), 'utf8').split('\n')
  const steps: Step[] = []
  let headings: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, marks, title] = /^(#+) (.+)$/.exec(lines[at]!) ?? []
    if (marks !== undefined) headings = [...headings.slice(0, marks.length - 1), title!]
    const language = /^```(\w+)$/.exec(lines[at]!)?.[1]
    if (language === undefined) continue
    const end = lines.indexOf('```', at)
    if (end < 0) throw new Error(`${name}.md:${at + 1} opens a block that nothing ends`)
    const text = lines.slice(at + 1, end).join('\n')
    const before = steps.at(-1)
    if (language !== 'text') steps.push({ language, text, headings, line: at + 1, shown: undefined })
    else if (before?.shown === undefined && before?.headings.join() === headings.join())
      steps[steps.length - 1] = { ...before, shown: text }
    else throw new Error(`${name}.md:${at + 1} shows what no block above prints`)
    at = end
  }
  return steps
}

/** Whether a page shows what was printed: `…` stands for anything but a line's end, and columns may be of any width. */
export function agrees(printed: string, shown: string): boolean {
  const tidy = (text: string) =>
    text.trimEnd().replace(/ +$/gm, '').replace(/ +/g, ' ').replace(/-{2,}/g, '--')
  const pattern = tidy(shown)
    .split('…')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${pattern}$`).test(tidy(printed))
}
