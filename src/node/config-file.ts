/** The config file: YAML, with the position of every value, so that an error can name it. */
import { createRequire } from 'node:module'
import type { Node, Pair, YAMLError, YAMLMap, YAMLWarning } from 'yaml'
import { configError } from './config-values.ts'

/** A value and its position. */
export type FileValue = {
  /** An integer is a number if a double holds it exactly, and a bigint otherwise. */
  readonly value: unknown
  /** `fahao.yaml:3`. */
  readonly position: string
}

/** The content of a config file: settings by name, generators by name. A key without a value counts as absent. */
export type ConfigFile = {
  readonly settings: ReadonlyMap<string, FileValue>
  readonly generators: ReadonlyMap<string, FileValue>
}

/** Reads a config file. Throws CONFIG with line and column. */
export function readConfigFile(path: string, text: string): ConfigFile {
  const { isMap, isScalar, LineCounter, parseDocument } = loadYaml()
  const isNothing = (node: Node | null): node is null =>
    node === null || (isScalar(node) && node.value === null)
  const lines = new LineCounter()
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  const document = parseDocument(text, { intAsBigInt: true, lineCounter: lines, prettyErrors: false })
  const broken = document.errors[0] ?? document.warnings[0]
  if (broken) throw configError(`${at(broken.pos[0])}: ${firstLine(broken.message)}${adviceOn(broken, text)}`)
  if (isNothing(document.contents)) return { settings: new Map(), generators: new Map() }
  if (!isMap(document.contents))
    throw configError(`${at(document.contents.range![0])}: settings are written as \`name: value\``)

  // Zeros in front give a node's index its width.
  const valueOfNode = (node: Node) =>
    isScalar(node) && /^0\d+$/.test(node.source ?? '') ? node.source : narrowed(node.toJS(document))
  const entries = (map: YAMLMap): Map<string, FileValue & { node: Node }> => {
    const found = new Map<string, FileValue & { node: Node }>()
    const names = new Set<string>()
    for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
      const name = String(isScalar(key) ? key.value : key)
      const position = at(key.range![0])
      // The parser refuses a key that is written twice alike: 1 and '1' are two keys of YAML, and one name.
      if (names.has(name)) throw configError(`${position}: '${name}' is given twice; give it once`)
      names.add(name)
      if (!isNothing(value)) found.set(name, { value: valueOfNode(value), position, node: value })
    }
    return found
  }
  const settings = entries(document.contents)
  const generators = settings.get('generators')
  settings.delete('generators')
  if (generators === undefined) return { settings, generators: new Map() }
  if (isMap(generators.node)) return { settings, generators: entries(generators.node) }
  throw configError(`${generators.position}: generators are written as \`name: { kind: … }\``)
}

/** Loaded only with a file to read: most commands have none. */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml')
}

/** Replaces each bigint that a double holds exactly by a number, at every depth. */
function narrowed(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  if (Array.isArray(value)) return value.map(narrowed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, narrowed(inner)]))
}

/** A value with a colon behind it, such as `engine: memory:`, reads as a map in YAML. */
function adviceOn({ code, pos: [start] }: YAMLError | YAMLWarning, text: string): string {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY' && code !== 'BLOCK_IN_FLOW') return ''
  const value = /^(?:[^\s#,{}[\]]|[ \t]+(?=[^\s#]))*/.exec(text.slice(start))?.[0] ?? ''
  return `; put a value with a colon into quotes: '${value.trim().slice(0, 60)}'`
}

function firstLine(message: string): string {
  return message.split('\n')[0]!
}
