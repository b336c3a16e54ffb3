/** Output of the verbs. Colours only on a terminal, and not with NO_COLOR. */
import { styleText } from 'node:util'

/** Prints lines to stdout. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/** Prints one JSON document to stdout. Integers that a double does not hold exactly must be text. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2))
}

/** Prints an answer as JSON where `--json` was given, and as lines otherwise. */
export function printAnswer(
  { json }: { readonly json?: true },
  answer: unknown,
  lines: string | readonly string[],
): void {
  if (json) printJson(answer)
  else print(...[lines].flat())
}

/** Emphasized text. */
export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

/** Text of less importance. */
export function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout })
}

/** Lines of aligned columns under a bold heading. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = heading.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd()
  return [bold(line(heading)), ...rows.map(line)]
}

/** Lines of names and values; empty values are left out. */
export function fields(entries: readonly (readonly [name: string, value: string])[]): string[] {
  const shown = entries.filter(([, value]) => value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${dim(name.padEnd(width))}  ${value}`)
}

/** 4096000 → `4,096,000`. */
export function grouped(value: number | bigint): string {
  return value.toLocaleString('en-US')
}
