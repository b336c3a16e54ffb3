/** Rules about text. Each gets the repository and returns its findings, one line each. */
import { lineAt, readSource, resolve, type Tree } from './source.ts'

const readmes = ['README.md', 'README.zh-CN.md']
const fence = /^( *)(`{3,}|~{3,})([^\n]*)\n([\s\S]*?)^\1\2[`~]*[ \t]*$/gm

/**
 * Words that the glossary in docs/internals/architecture.md replaces, and pronouns that stand in for a named subject.
 * A class around one letter keeps each word out of this file.
 */
const bannedWords =
  /\b(?:[Nn]o[b]ody|[Ss]ome[b]ody|[Aa]ny[b]ody|[Ww]ho[e]ver|[Ww]ho[m](?:ever)?|[Ww]hat o[f]|[Aa]nother[']s|[Ii]n han[d]|[Ss]toc[k]s?|[Mm]en[d](?:s|ed|ing)?|[Bb]ur(?:[y]|ied|ies)|[Hh]o[p]s?|[Oo]n[w]ards?|[Ll]iv[e]s|[Ww]is[h](?:es)?(?![/)])|[Ss]trange[r]s?|[Cc]ens[u]s|[Rr]iva[l]s?|[Ss]ucces[s]ion|[Oo]bj[e]ctions?|[Oo]bs[t]acles?|[Bb]eside[s]|[Ff]arewel[l]s?|[Dd]ialogu[e]s?|so (?:ofte[n]|lon[g])|ki[n])\b/g

/** Uses of banned words. */
export function bannedWordsUsed(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => /\.(?:tsx?|css|md|sh|ya?ml|conf)$/.test(path))
    .flatMap(([path, text]) =>
      [...text.matchAll(bannedWords)].map(
        ({ index, 0: word }) => `${path}:${lineAt(text, index)} uses the banned word '${word}'`,
      ),
    )
}

/** Text that names a folder of one machine, or one registry. */
export function foreignPlaces(tree: Tree): string[] {
  const place =
    /(?<![\w.])\/(?:work|home|Users|root)\/\w*|\bregistry\.[\w-]+\.\w+|\bnpm(?:js|mirror)\.(?:org|com|net)\b/g
  return [...tree].flatMap(([path, text]) =>
    [...text.matchAll(place)].map((match) => `${path}:${lineAt(text, match.index)} speaks of ${match[0]}`),
  )
}

/** Lines that a merge leaves where both sides changed a text. Their marks have seven characters. */
export function mergeConflicts(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) =>
    [...text.matchAll(/^(?:<{7}(?= )|={7}$|>{7}(?= )|\|{7}(?= ))/gm)].map(
      ({ index }) => `${path}:${lineAt(text, index)} has a mark of a merge conflict`,
    ),
  )
}

/** Differences between the two READMEs in what both must have: headings by depth, and code but for its comments. */
export function readmeDifferences(tree: Tree): string[] {
  const missing = readmes.filter((path) => !tree.has(path))
  if (missing.length > 0) return missing.map((path) => `${path} is missing`)
  const [english, chinese] = readmes.map((path) => tree.get(path)!)
  return [
    ...firstDifference('heading', depths(english!), depths(chinese!)),
    ...firstDifference('code block', codeBlocks(english!), codeBlocks(chinese!)),
  ]
}

function firstDifference(what: string, left: readonly string[], right: readonly string[]): string[] {
  const at = Array.from({ length: Math.max(left.length, right.length) }, (_, index) => index)
  const differing = at.find((index) => left[index] !== right[index])
  if (differing === undefined) return []
  const shown = [left[differing], right[differing]].map((each) => each ?? 'nothing').join('\nand\n')
  return [`${what} ${differing + 1} of ${readmes.join(' and ')} differs:\n${shown}`]
}

function depths(markdown: string): string[] {
  return headings(markdown).map(({ depth }) => '#'.repeat(depth))
}

function codeBlocks(markdown: string): string[] {
  return [...markdown.matchAll(fence)].map((match) => `${match[3]}\n${withoutComments(match[4]!)}`)
}

function withoutComments(code: string): string {
  const lines = code.split('\n').map((line) => line.replace(/(?:^|\s+)(?:#|\/\/)\s.*$/, '').trimEnd())
  return lines.filter((line) => line !== '').join('\n')
}

function headings(markdown: string): { depth: number; text: string }[] {
  const prose = markdown.replace(fence, '')
  return [...prose.matchAll(/^(#{1,6}) +(.+?) *#*$/gm)].map((match) => ({
    depth: match[1]!.length,
    text: match[2]!,
  }))
}

/** Relative links in Markdown that lead nowhere: no such file, or no such heading in it. */
export function brokenLinks(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => path.endsWith('.md'))
    .flatMap(([path, text]) =>
      linksOf(text)
        .filter((link) => !leadsSomewhere(tree, path, link))
        .map((link) => `${path} links to ${link}, which is not there`),
    )
}

/** Files that a page of the internals or a comment names, and private members that a comment names, which are not there. */
export function missingNames(tree: Tree): string[] {
  const paths = [...tree.keys()].map((path) => `/${path}`)
  const isThere = (named: string) => paths.some((each) => each.endsWith(`/${named}`))
  return [...tree].flatMap(([path, text]) => {
    const isPage = path.startsWith('docs/internals/') || path === 'CONTRIBUTING.md'
    if (!isPage && !/^(?:client\/)?src\/.*\.ts$/.test(path)) return []
    const { code, comments } = isPage ? { code: '', comments: text } : readSource(text)
    const files = [...comments.matchAll(/(?<=[`( ])[a-z][\w./-]*\.(?:ts|sh)(?=[`), ])/g)].filter(
      ([named]) => !isThere(named),
    )
    const members = isPage
      ? []
      : [...comments.matchAll(/(?<=`)#\w+(?=`)/g)].filter(([named]) => !code.includes(named))
    return [...files, ...members].map(
      ({ index, 0: named }) => `${path}:${lineAt(text, index)} names ${named}, which is not there`,
    )
  })
}

function linksOf(markdown: string): string[] {
  const prose = markdown.replace(fence, '').replace(/`[^`\n]*`/g, '')
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)]
  const references = [...prose.matchAll(/^ *\[[^\]]+\]:\s*(\S+)/gm)]
  const attributes = [...prose.matchAll(/\b(?:href|src)="([^"]+)"/g)]
  return [...inline, ...references, ...attributes]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/i.test(link))
}

function leadsSomewhere(tree: Tree, from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? from : resolve(from, decodeURI(file)).replace(/\/$/, '')
  if (anchor === undefined || anchor === '') {
    return tree.has(path) || [...tree.keys()].some((each) => each.startsWith(`${path}/`))
  }
  const target = tree.get(path)
  return target !== undefined && anchorsOf(target).has(decodeURIComponent(anchor).toLowerCase())
}

/** Anchors as GitHub makes them: lower case, no punctuation, hyphens for spaces, -1 for the second of a name. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set([...markdown.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)].map((match) => match[1]!))
  for (const { text } of headings(markdown)) {
    const words = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')
    let unique = anchor
    for (let copy = 1; anchors.has(unique); copy++) unique = `${anchor}-${copy}`
    anchors.add(unique)
  }
  return anchors
}

/** Optional packages of other platforms that the lock file does not name: there `npm ci` would refuse it. */
export function incompleteLock(tree: Tree): string[] {
  const packages: Record<string, { optionalDependencies?: Record<string, string> }> = JSON.parse(
    tree.get('package-lock.json') ?? '{}',
  ).packages
  return Object.entries(packages ?? {}).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`])
      .map((name) => `package-lock.json lacks ${name}, which ${path} may need`),
  )
}
