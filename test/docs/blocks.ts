/** The blocks of code of a page, and how a reader's steps are cut out of them. */

/** A fenced block of shell, TypeScript or JavaScript, from which `mark` excludes it. */
export type Block = {
  readonly language: 'sh' | 'ts' | 'js'
  readonly text: string
  /** Line of its fence, from 1. */
  readonly line: number
  /** Why it is not run: `<!-- not run: REASON -->` on the line before it. Undefined: it is run. */
  readonly mark: string | undefined
}

/** Blocks that are run in one folder, against the same servers. */
export type Chapter = { readonly title: string; readonly blocks: readonly Block[] }

/** A part of a shell block: a server, which goes on running, or commands, which end. */
export type ShellPart =
  | { readonly server: string; readonly commands?: undefined }
  | { readonly server?: undefined; readonly commands: readonly string[] }

/** The ports of the pages: six of `npm run cluster`, of which `npm start` has the first two, and those of servers with flags. */
export const ports: readonly number[] = [7379, 7380, 7381, 7382, 7383, 7384, 7389, 7432]

const fence = /^(```+)(\w*)\n([\s\S]*?)^\1$/gm
const mark = /^<!-- not run: (.*) -->$/
const serverLine = /^(?:\w+=\S* )*(?:npm start|npm run cluster|npx fahao serve)(?= |$)/

/** Every block in one of the three languages, in the order of the page. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(fence)]
    .filter(([, , language]) => language === 'sh' || language === 'ts' || language === 'js')
    .map(({ 2: language, 3: text, index }) => {
      const before = page.slice(0, index).split('\n')
      const reason = mark.exec(before.at(-2) ?? '')?.[1]
      return { language: language as Block['language'], text: text!, line: before.length, mark: reason }
    })
}

/** Marks and what looks like one: without a reason, misspelt, or before no such block. */
export function uselessMarks(page: string): string[] {
  const useful = blocksOf(page).filter((block) => (block.mark ?? '').length >= 10)
  return page
    .split('\n')
    .map((text, at) => ({ text, line: at + 1 }))
    .filter(({ text }) => /<!--.*\brun\b/.test(text))
    .filter(({ line }) => !useful.some((block) => block.line === line + 1))
    .map(({ text, line }) => `line ${line}: ${text}`)
}

/**
 * The whole page is one chapter if its first block starts a server, or if it needs none. Otherwise each section is one,
 * because readers open such a page at any of its headings.
 */
export function chaptersOf(page: string): Chapter[] {
  const blocks = blocksOf(page).filter((block) => block.mark === undefined)
  if (blocks[0] === undefined) return []
  if (startsServer(blocks[0]) || !blocks.some(namesPort)) return [{ title: 'the whole page', blocks }]
  const lines = page.split('\n')
  const titleOf = ({ line }: Block) => lines.slice(0, line).findLast((each) => /^#+ /.test(each)) ?? ''
  const titles = [...new Set(blocks.map(titleOf))]
  return titles.map((title) => ({ title, blocks: blocks.filter((block) => titleOf(block) === title) }))
}

/** Whether a block names the port of a server. */
export function namesPort({ text }: Block): boolean {
  return ports.some((port) => text.includes(`${port}`))
}

/** Whether the first command of a block is a server. */
export function startsServer(block: Block): boolean {
  return block.language === 'sh' && shellParts(block.text)[0]?.server !== undefined
}

/** The commands of a shell block, each with its continued lines, between the servers that it starts. */
export function shellParts(text: string): ShellPart[] {
  const lines = text.match(/(?:.*\\\n)*.*\n/g)!.map((line) => line.trimEnd())
  const parts: ShellPart[] = []
  let commands: string[] = []
  for (const line of lines.filter((each) => !/^\s*(?:#|$)/.test(each))) {
    if (serverLine.test(line)) {
      commands = []
      parts.push({ server: line.replace(/\s+#.*$/, '').replace(/ &$/, '') })
    } else {
      if (commands.length === 0) parts.push({ commands })
      commands.push(line)
    }
  }
  return parts
}

/**
 * What the comment behind a line says that it prints: a number, the JSON of a reply, a quoted text whose digits are an
 * example, or the message of an error. `…` stands for any text. Undefined for other comments, and for none.
 */
export function shownBy(line: string): RegExp | undefined {
  const comment = / (?:#|\/\/) (.*)$/.exec(line)?.[1] ?? ''
  const exact = /^(?:\(integer\) )?(-?\d+n?(?=$|[ ,:])|\{".*\}$|[A-Z]{3,} .*)/.exec(comment)?.[1]
  if (exact !== undefined) return new RegExp(`^${patternOf(exact)}$`)
  const example = /^(["'])(.*?)\1/.exec(comment)?.[2]
  return example === undefined ? undefined : new RegExp(`^${patternOf(example).replace(/\d+/g, '\\d+')}$`)
}

function patternOf(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')
}
