/** TypeScript read as far as the rules need it: what is code, what is comment, what is imported and exported. */

/** A repository as the rules see it: path → text. */
export type Tree = ReadonlyMap<string, string>

/** One file's text with parts blanked out; all have the same length and line breaks. */
export type Source = {
  readonly text: string
  /** Without comments. */
  readonly uncommented: string
  /** Comments alone. */
  readonly comments: string
  /** Without comments and without what strings, templates and regular expressions contain. */
  readonly code: string
}

type Part = 'code' | 'comment' | 'string'
/** Where a part ends; it begins where the one before ends. */
type Span = { readonly part: Part; readonly end: number }

const regexMayFollow = /(?:^|[([{,;:=!&|?+\-*%~^<>]|\b(?:return|typeof|case|in|of|yield|await|throw))\s*$/

/** What has been read: each rule reads the same files. */
const sources = new Map<string, Source>()

/** Splits a file into code, comments and strings. */
export function readSource(text: string): Source {
  const known = sources.get(text)
  if (known !== undefined) return known
  const spans = spansOf(text)
  const source = {
    text,
    uncommented: blank(text, spans, (part) => part === 'comment'),
    comments: blank(text, spans, (part) => part !== 'comment'),
    code: blank(text, spans, (part) => part !== 'code'),
  }
  sources.set(text, source)
  return source
}

function blank(text: string, spans: readonly Span[], hidden: (part: Part) => boolean): string {
  return spans
    .map(({ part, end }, index) => {
      const piece = text.slice(spans[index - 1]?.end ?? 0, end)
      return hidden(part) ? piece.replace(/[^\n]/g, ' ') : piece
    })
    .join('')
}

function spansOf(text: string): Span[] {
  const spans: Span[] = []
  // For each template that is open: how many braces of its current ${ are open.
  const templates: number[] = []
  // The last of the code before `at`, with a digit for each string.
  let code = ''
  let at = 0
  const take = (end: number, part: Part) => {
    spans.push({ part, end: Math.min(end, text.length) })
    if (part === 'string') code += '0'
    at = end
  }
  while (at < text.length) {
    const here = text[at]!
    if (text.startsWith('//', at) || (at === 0 && text.startsWith('#!')))
      take(until(text, '\n', at, 0), 'comment')
    else if (text.startsWith('/*', at)) take(until(text, '*/', at + 2, 2), 'comment')
    else if (here === "'" || here === '"') take(endOfQuoted(text, at), 'string')
    else if (here === '/' && regexMayFollow.test(code)) take(endOfRegex(text, at), 'string')
    else if (here === '`' || (here === '}' && templates.at(-1) === 0)) {
      if (here === '}') templates.pop()
      const end = endOfTemplatePiece(text, at + 1)
      if (text[end - 1] === '{') templates.push(0)
      take(end, 'string')
    } else {
      if (here === '{' && templates.length > 0) templates[templates.length - 1]! += 1
      if (here === '}' && templates.length > 0) templates[templates.length - 1]! -= 1
      const end = here === '/' || here === '{' || here === '}' ? at + 1 : endOfPlain(text, at)
      code = (code + text.slice(at, end)).slice(-40)
      take(end, 'code')
    }
  }
  return spans
}

/** Where a run of code ends that contains nothing that may begin another part. */
function endOfPlain(text: string, start: number): number {
  special.lastIndex = start
  return special.exec(text)?.index ?? text.length
}

const special = /['"`/{}]/g

function until(text: string, stop: string, from: number, keep: number): number {
  const found = text.indexOf(stop, from)
  return found < 0 ? text.length : found + keep
}

function endOfQuoted(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== text[start] && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endOfRegex(text: string, start: number): number {
  let inClass = false
  let at = start + 1
  for (; at < text.length && text[at] !== '\n'; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '[') inClass = true
    else if (text[at] === ']') inClass = false
    else if (text[at] === '/' && !inClass) break
  }
  return at + 1
}

/** From inside a template to behind its closing backtick or its next `${`. */
function endOfTemplatePiece(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`') return at + 1
    else if (text.startsWith('${', at)) return at + 2
  }
  return text.length
}

const importForms = [
  /\b(?:import|export)\b(?:[\w\s{},*$]|\btype\b)*?\bfrom\s*(['"])([^'"\n]+)\1/g,
  /\bimport\s*(['"])([^'"\n]+)\1/g,
  /\bimport\s*\(\s*(['"])([^'"\n]+)\1/g,
]

/** What a file imports or re-exports, statically or not, as written. */
export function importsOf(source: Source): string[] {
  return importForms.flatMap((form) =>
    [...source.uncommented.matchAll(form)]
      // The keyword must be code: a page of text may speak of imports.
      .filter((match) => /^(?:im|ex)port/.test(source.code.slice(match.index, match.index + 6)))
      .map((match) => match[2]!),
  )
}

/** Files of `tree` that a file names by a relative path: imports, and `new URL('./worker.ts', …)`. */
export function filesNamedBy(tree: Tree, path: string, source: Source): string[] {
  const strings = [...source.uncommented.matchAll(/(['"])(\.\.?\/[^'"\n]+)\1/g)].map((match) => match[2]!)
  return strings.map((name) => resolve(path, name).replace(/\.js$/, '.ts')).filter((name) => tree.has(name))
}

/** A relative specifier as a path from the root of the repository. */
export function resolve(from: string, specifier: string): string {
  const steps = from.split('/').slice(0, -1)
  for (const step of specifier.split('/')) {
    if (step === '..') steps.pop()
    else if (step !== '.') steps.push(step)
  }
  return steps.join('/')
}

/** An exported declaration. */
export type Exported = { readonly name: string; readonly line: number; readonly documented: boolean }

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) +([\w$]+)/gm

/** Every declaration that a file exports. Of overloads the first carries the doc comment. */
export function exportsOf(source: Source): Exported[] {
  const found = new Map<string, Exported>()
  for (const match of source.code.matchAll(declaration)) {
    const name = match[1]!
    if (found.has(name)) continue
    const before = source.text.slice(0, match.index).trimEnd()
    const documented = before.endsWith('*/') && before.slice(before.lastIndexOf('/*')).startsWith('/**')
    found.set(name, { name, line: lineAt(source.text, match.index), documented })
  }
  return [...found.values()]
}

/** The number of the line that holds this index, from 1. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
