/** Rules about what is run elsewhere: workflows, forms and containers. Each gets the repository and returns its findings. */
import { lineAt, type Tree } from './source.ts'

const runElsewhere = /^\.(?:github|devcontainer)\//

/** Scripts of npm, and files, that a workflow, a container or a page names and that are not there. */
export function missingCommands(tree: Tree): string[] {
  const { scripts = {} } = JSON.parse(tree.get('package.json') ?? '{}')
  const known = new Set(['start', 'test', ...Object.keys(scripts)])
  return [...tree].flatMap(([path, text]) => {
    const isElsewhere = runElsewhere.test(path)
    if (!isElsewhere && !path.endsWith('.md')) return []
    const runs = [...text.matchAll(/\bnpm run (?:--?[\w-]+ )*([\w:-]*\w)/g)].filter(
      ([, name]) => !known.has(name!),
    )
    const files = isElsewhere
      ? [...text.matchAll(/(?<![\w./-])((?:scripts|\.ci|\.github)\/[\w./-]*\w)/g)]
      : []
    const missing = [...runs, ...files.filter(([, file]) => !tree.has(file!))]
    return missing.map(
      (match) => `${path}:${lineAt(text, match.index)} names ${match[1]}, which is not there`,
    )
  })
}

/** Workflows that can run what their authors have not read, or may do more than they say. */
export function looseWorkflows(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!/^\.github\/workflows\/.*\.ya?ml$/.test(path)) return []
    const uses = [...text.matchAll(/\buses: (?!\.\/)(.*)$/gm)]
    const loose = uses.filter(([, action]) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action!))
    return [
      ...loose.map(
        ({ index, 1: action }) =>
          `${path}:${lineAt(text, index)} uses ${action}: name its commit and version`,
      ),
      ...(/^permissions:/m.test(text)
        ? []
        : [`${path} has no permissions of its own, so it gets those of the repository`]),
    ]
  })
}

/** Differences between the versions of the two packages, and what the lock file says of them. */
export function differingVersions(tree: Tree): string[] {
  const read = (path: string) => JSON.parse(tree.get(path) ?? '{}')
  const lock = read('package-lock.json')
  const versions: readonly (readonly [place: string, version: unknown])[] = [
    ['package.json', read('package.json').version],
    ['client/package.json', read('client/package.json').version],
    ['package-lock.json', lock.packages?.['']?.version],
    ['package-lock.json, client', lock.packages?.client?.version],
  ]
  const [, [, wanted] = []] = versions
  return versions.flatMap(([place, version]) =>
    version === wanted ? [] : [`${place} has version ${version}, and client/package.json ${wanted}`],
  )
}
