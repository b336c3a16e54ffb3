/** Rules about code. Each gets the repository and returns what breaks it, one line each. */
import { importsInside } from './layers.ts'
import { exportsOf, filesNamedBy, lineAt, readSource, type Source, type Tree } from './source.ts'

const linesMax = 400
const linesMin = 25
/** PostgreSQL's facts are written by a script; code that is loaded late needs a file for that. */
const isForOneUse = /^src\/postgres\/query\/facts\/|^client\/src\/clock-code\.ts$/
const entries = ['src/index.ts', 'src/ids.ts', 'src/cli/fahao.ts', 'client/src/index.ts']
/** A hook for an ORM, which is an entry too; `missing-ids.ts` is what they share. */
const isHook = /^client\/src\/orm\/(?!missing-ids)[\w-]+\.ts$/
const published = /^(?:client\/)?src\//
const clockFile = 'src/base/clock.ts'
const isOwnCode = /^(?:src|client\/src|test|bench|scripts)\/.*\.ts$/
/** A page of the console is no longer than a file of the packages. */
const isConsole = /^console\/src\/.*\.tsx?$/
const vagueName = /(?:^|[-_.])(?:utils?|helpers?|common|managers?|misc)(?:[-_.]|$)/i

/** Files of the packages that are too long to have one reason to exist. */
export function longFiles(tree: Tree): string[] {
  return [...sources(tree, published), ...sources(tree, isConsole)].flatMap(([path, { text }]) => {
    const lines = text.trimEnd().split('\n').length
    return lines > linesMax ? [`${path} has ${lines} lines; ${linesMax} are allowed`] : []
  })
}

/** Files of the packages that are a few lines of their only importer. */
export function crumbs(tree: Tree): string[] {
  const importers = new Map<string, Set<string>>()
  for (const [path, targets] of importsInside(tree))
    for (const target of targets) importers.set(target, (importers.get(target) ?? new Set()).add(path))
  return sources(tree, published).flatMap(([path, { text }]) => {
    const [importer, ...others] = importers.get(path) ?? []
    const lines = text.trimEnd().split('\n').length
    if (importer === undefined || others.length > 0 || lines >= linesMin) return []
    return entries.includes(path) || isForOneUse.test(path)
      ? []
      : [`${path} has ${lines} lines, and one importer: write it in ${importer}`]
  })
}

/** Files of the packages that no entry reaches. */
export function unusedFiles(tree: Tree): string[] {
  const reached = new Set<string>()
  const open = [...tree.keys()].filter((path) => entries.includes(path) || isHook.test(path))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    open.push(...filesNamedBy(tree, path, readSource(tree.get(path)!)))
  }
  const missing = entries.filter((entry) => !tree.has(entry)).map((entry) => `${entry} is missing`)
  const unused = [...tree.keys()].filter(
    (path) => /^(?:client\/)?src\/.*\.ts$/.test(path) && !reached.has(path),
  )
  return [...missing, ...unused.map((path) => `nothing reaches ${path}`)]
}

/** Exports of the packages without a doc comment, and forms of export that cannot carry one. */
export function undocumentedExports(tree: Tree): string[] {
  return sources(tree, published).flatMap(([path, source]) => {
    const bare = exportsOf(source).filter((each) => !each.documented)
    const unnamed = [...source.code.matchAll(/^export (?:\*|(?:type )?\{[^}]*\}(?!\s*from))/gm)]
    return [
      ...bare.map(({ name, line }) => `${path}:${line} exports ${name} without a doc comment`),
      ...unnamed.map(
        ({ index }) => `${path}:${lineAt(source.text, index)} export where it is declared, by name`,
      ),
    ]
  })
}

/** Time, timers and randomness outside of the one file that may touch them. */
export function machineClocks(tree: Tree): string[] {
  const touched =
    /\b(?:Date\.now|Math\.random|performance\.(?:now|timeOrigin)|process\.hrtime|setTimeout|setInterval|new Date\(\s*\)|new Date\b(?!\s*\()|node:timers)/g
  return sources(tree, published)
    .filter(([path]) => path !== clockFile)
    .flatMap(([path, { code, uncommented }]) => [
      ...matches(path, code, touched, `only ${clockFile} touches`),
      ...matches(path, uncommented, /['"](?:node:)?timers(?:\/promises)?['"]/g, `only ${clockFile} touches`),
    ])
}

/** What a browser has not, in the layers that work in one, and in the client. */
export function nodeGlobals(tree: Tree): string[] {
  return sources(tree, /^src\/(?:base|ids|buffers)\/|^src\/ids\.ts$|^client\/src\//).flatMap(
    ([path, { code }]) =>
      matches(
        path,
        code,
        /(?<![.\w])(?:process|Buffer|setImmediate|__dirname|require)\b(?!\s*:)/g,
        'a browser has no',
      ),
  )
}

/** Syntax that the house does without; `using` because Node 22, which runs these files as they are, cannot read it. */
export function unwantedSyntax(tree: Tree): string[] {
  return sources(tree, isOwnCode).flatMap(([path, { code }]) =>
    matches(
      path,
      code,
      /\bexport\s+default\b|\benum\s+\w+\s*\{|\b(?:namespace|module)\s+[\w.]+\s*\{|\busing\s+\w+\s*=/g,
      'no',
    ),
  )
}

/** Names that say nothing about what a file is for. */
export function vagueNames(tree: Tree): string[] {
  return [...tree.keys()]
    .filter((path) => /^(?:src|client|test|bench|scripts)\//.test(path))
    .filter((path) => path.split('/').some((step) => vagueName.test(step)))
    .map((path) => `${path}: name it for what it does`)
}

/** Work left for later: it belongs into an issue. */
export function leftOpen(tree: Tree): string[] {
  return sources(tree, isOwnCode).flatMap(([path, { text }]) =>
    matches(path, text, /\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b|not\simplemented/g, 'left open:'),
  )
}

/** Tests that do not run. */
export function unrunTests(tree: Tree): string[] {
  const marked = /\b(?:test|describe|t|context)\s*\.\s*(?:skip|only|todo)\b/g
  const optioned = /\b(?:test|describe)\(\s*(?:\s+,\s*)?\{[^{}]*\b(?:skip|only|todo)\b/g
  return sources(tree, /^(?:test|bench)\//).flatMap(([path, { code }]) => [
    ...matches(path, code, marked, 'a test that does not run:'),
    ...matches(path, code, optioned, 'a test that does not run:'),
  ])
}

/** Tests by the other names that node:test has for the same thing. */
export function otherTestNames(tree: Tree): string[] {
  return sources(tree, /^(?:test|bench)\//).flatMap(([path, { uncommented }]) =>
    matches(
      path,
      uncommented,
      /^import \{[^}]*\b(?:it|suite)\b[^}]*\} from 'node:test'/gm,
      'test and describe:',
    ),
  )
}

function sources(tree: Tree, where: RegExp): [path: string, source: Source][] {
  return [...tree]
    .filter(([path]) => path.endsWith('.ts') && where.test(path))
    .map(([path, text]) => [path, readSource(text)])
}

function matches(path: string, text: string, pattern: RegExp, reason: string): string[] {
  return [...text.matchAll(pattern)].map(
    (match) => `${path}:${lineAt(text, match.index)} ${reason} ${match[0].replace(/\s+/g, ' ')}`,
  )
}
