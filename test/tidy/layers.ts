/** The layers: which folder may import which. */
import { importsOf, readSource, resolve, type Tree } from './source.ts'

/** From the lowest layer up; each may import only from earlier rows. Layers in one row are siblings. */
const storeys = [
  ['base'],
  ['ids', 'installation'],
  ['buffers'],
  ['engine'],
  ['issuing'],
  ['cluster', 'audit'],
  ['auth'],
  ['quotas'],
  ['catalogue'],
  ['recovery', 'legacy', 'leasing', 'config'],
  ['operations'],
  ['commands'],
  ['listening'],
  ['forwarding'],
  ['node'],
  ['metrics'],
  ['resp', 'http', 'postgres', 'proxy'],
  ['cli'],
]
/** Engines share nothing but SQL's statements. */
const engineMayImport: Readonly<Record<string, readonly string[]>> = { mysql: ['sql'], postgres: ['sql'] }
const workInBrowsers = ['base', 'ids', 'buffers']
/** The only file of the client that imports a package, and only when it is called. */
const clientPackages: Readonly<Record<string, readonly string[]>> = { 'client/src/resp-link.ts': ['redis'] }

/** Every import in src and in the client that the layers forbid. */
export function forbiddenImports(tree: Tree): string[] {
  const findings: string[] = []
  for (const [path, text] of tree) {
    if (!/^(?:client\/)?src\/.*\.ts$/.test(path)) continue
    for (const specifier of importsOf(readSource(text))) {
      const reason = refusal(path, specifier)
      if (reason) findings.push(`${path} imports ${specifier}: ${reason}`)
    }
  }
  return findings
}

function refusal(path: string, specifier: string): string | undefined {
  if (path.startsWith('client/')) return refusalInClient(path, specifier)
  const from = layerOf(path)
  if (!specifier.startsWith('.')) {
    if (path === 'src/ids.ts' || workInBrowsers.includes(from)) return 'it works in a browser, and alone'
    return undefined
  }
  const target = resolve(path, specifier)
  if (target === 'client/src/index.ts')
    return from === 'cli' ? undefined : 'only the command line is a client'
  if (target === 'package.json') return from === 'installation' ? undefined : 'only installation/ reads it'
  if (!target.startsWith('src/')) return 'it lies outside of src'
  if (!target.endsWith('.ts')) return 'imports end with .ts'
  return refusalInside(path, from, target)
}

function refusalInClient(path: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.'))
    return clientPackages[path]?.includes(specifier) ? undefined : 'the client works in a browser, and alone'
  const target = resolve(path, specifier)
  if (!target.endsWith('.ts')) return 'imports end with .ts'
  if (target.startsWith('client/src/')) return undefined
  return workInBrowsers.includes(layerOf(target)) ? undefined : 'the client shares only what is pure'
}

function refusalInside(path: string, from: string, target: string): string | undefined {
  const to = layerOf(target)
  if (path === 'src/index.ts') return to === 'cli' ? 'the library has no command line' : undefined
  if (path === 'src/ids.ts')
    return workInBrowsers.includes(to) ? undefined : 'what fahao/ids stands on is pure'
  if (from === '') return 'only index.ts and ids.ts stand outside of the layers'
  if (to === '') return 'index.ts and ids.ts stand on top'
  if (from === to) return from === 'engine' ? refusalBetweenEngines(path, target) : undefined
  const height = heightOf(from)
  if (height < 0) return `'${from}' is no layer`
  return heightOf(to) >= 0 && heightOf(to) < height ? undefined : `${from} does not stand above ${to}`
}

function refusalBetweenEngines(path: string, target: string): string | undefined {
  const [from, to] = [engineOf(path), engineOf(target)]
  if (from === to) return undefined
  if (from === '')
    return target === 'src/engine/open.ts' || path === 'src/engine/open.ts'
      ? undefined
      : 'only open.ts knows engines'
  if (to === '') return target === 'src/engine/open.ts' ? 'open.ts stands above the engines' : undefined
  return engineMayImport[from]?.includes(to) ? undefined : 'engines do not import each other'
}

const drawn = 'docs/internals/architecture.md'

/** Where the picture and the table of architecture.md differ from the layers and from the imports. */
export function misdrawnRooms(tree: Tree): string[] {
  const text = tree.get(drawn)
  if (text === undefined) return []
  const picture = /^```\n([\s\S]*?)^```/m.exec(text)?.[1] ?? ''
  const lines = picture
    .split('\n')
    .map((line) => [...line.matchAll(/([a-z]+)\/(?= |$)/g)].map(([, room]) => room))
  const shown = lines.filter((line) => line.length > 0).reverse()
  const findings =
    JSON.stringify(shown) === JSON.stringify(storeys) ? [] : [`${drawn}: the picture has other storeys`]
  const rows = [...text.matchAll(/^\| `(\w+)\/` \|.*\| ([^|]*) \|$/gm)]
  const said = new Map(
    rows.map(([, room, list]) => [
      room!,
      [...list!.replace('nothing', '').matchAll(/\w+/g)].map(([word]) => word),
    ]),
  )
  const imports = importedRooms(tree)
  for (const room of storeys.flat()) {
    const [found, wanted] = [
      said.get(room),
      [...(imports.get(room) ?? [])].sort((a, b) => heightOf(b) - heightOf(a)),
    ]
    if (found === undefined) findings.push(`${drawn}: the table lacks ${room}/`)
    else if (found.toSorted().join() !== wanted.toSorted().join())
      findings.push(`${drawn}: ${room}/ imports ${wanted.join(', ') || 'nothing'}`)
  }
  return findings
}

/** The rooms of src, each with those that its files import. */
function importedRooms(tree: Tree): Map<string, Set<string>> {
  const rooms = new Map<string, Set<string>>()
  for (const [path, targets] of importsInside(tree)) {
    const from = layerOf(path)
    const known = rooms.get(from) ?? new Set()
    rooms.set(from, known)
    for (const to of targets.map(layerOf)) if (to !== from && to !== '') known.add(to)
  }
  return rooms
}

function layerOf(path: string): string {
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? ''
}

function engineOf(path: string): string {
  return /^src\/engine\/([^/]+)\//.exec(path)?.[1] ?? ''
}

function heightOf(layer: string): number {
  return storeys.findIndex((storey) => storey.includes(layer))
}

/** Files of src, and of the client, that import each other in a circle, of types too: one line for each circle. */
export function circles(tree: Tree): string[] {
  const imports = importsInside(tree)
  const reached = new Map([...imports.keys()].map((path) => [path, reachable(imports, path)]))
  const listed = new Set<string>()
  return [...imports.keys()].sort().flatMap((path) => {
    if (listed.has(path) || !reached.get(path)!.has(path)) return []
    const circle = [...reached.get(path)!].filter((other) => reached.get(other)!.has(path)).sort()
    for (const member of circle) listed.add(member)
    return [`${circle.join(', ')} import each other`]
  })
}

/** The files of src and of the client, each with those of them that it imports. */
export function importsInside(tree: Tree): Map<string, string[]> {
  const paths = [...tree.keys()].filter((path) => /^(?:client\/)?src\/.*\.ts$/.test(path))
  return new Map(
    paths.map((path) => [
      path,
      importsOf(readSource(tree.get(path)!))
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolve(path, specifier))
        .filter((target) => tree.has(target)),
    ]),
  )
}

function reachable(imports: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const reached = new Set<string>()
  const open = [...imports.get(from)!]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    open.push(...(imports.get(path) ?? []))
  }
  return reached
}
