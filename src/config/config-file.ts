/** The config file: YAML, with the position of every value, so that an error can name it. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLWarning,
} from 'yaml'
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

/** More than any value of a setting or a generator has. Aliases can make a short file much longer. */
const partsMax = 4000
const levelsMax = 32

type YamlPair = Pair<Node, Node | null>

/** Reads a config file. Throws CONFIG with line and column. */
export function readConfigFile(path: string, text: string): ConfigFile {
  const lines = new LineCounter()
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${path}:${line}:${col}`
  }
  const refuse: Refuse = (node, message) => {
    throw configError(`${at(node.range?.[0] ?? 0)}: ${message}`)
  }
  // The parser would compare each key of a map with all keys before it. `anchorsOf` refuses those that are given twice.
  const document = parseDocument(text, {
    intAsBigInt: true,
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  })
  const broken = document.errors[0] ?? document.warnings[0]
  if (broken) throw configError(`${at(broken.pos[0])}: ${messageOf(broken)}${adviceOn(broken, text)}`)
  const { contents } = document
  const isNothing = (node: Node | null): node is null =>
    node === null || (isScalar(node) && node.value === null)
  if (isNothing(contents)) return { settings: new Map(), generators: new Map() }
  if (!isMap(contents)) return refuse(contents, 'settings are written as `name: value`')

  const anchors = anchorsOf(document, refuse)
  const read = (pairs: readonly YamlPair[]) =>
    new Map(
      pairs.flatMap(({ key, value }) => {
        if (isNothing(value)) return []
        return [[nameOf(key), { value: toValue(value, anchors, refuse), position: at(key.range![0]) }]]
      }),
    )
  const pairs = contents.items as YamlPair[]
  const generators = pairs.find(({ key }) => nameOf(key) === 'generators')
  const settings = read(pairs.filter((pair) => pair !== generators))
  if (generators === undefined || isNothing(generators.value)) return { settings, generators: new Map() }
  if (!isMap(generators.value)) return refuse(generators.key, 'generators are written as `name: { kind: … }`')
  return { settings, generators: read(generators.value.items as YamlPair[]) }
}

type Refuse = (node: Node, message: string) => never

const deep = `a value has at most ${levelsMax} levels of lists and maps; write it with fewer`

function nameOf(key: Node): string {
  return String(isScalar(key) ? key.value : key)
}

/**
 * The node that each alias stands for. Refuses an alias that stands for what it is in, and a name that a map gives twice:
 * 1 and '1' are two keys of YAML, and one name.
 */
function anchorsOf(document: Document.Parsed, refuse: Refuse): Map<Node, Node> {
  const byName = new Map<string, Node>()
  const targets = new Map<Node, Node>()
  const enter = (node: { anchor?: string } & Node) => {
    if (node.anchor !== undefined) byName.set(node.anchor, node)
  }
  visit(document, {
    Scalar: (_, node) => enter(node),
    Seq: (_, node) => enter(node),
    Map: (_, node) => {
      enter(node)
      const names = new Set<string>()
      for (const { key } of node.items as YamlPair[]) {
        const name = nameOf(key)
        if (names.has(name)) refuse(key, `'${name}' is given twice; give it once`)
        names.add(name)
      }
    },
    Alias: (_, node, path) => {
      const target = byName.get(node.source)
      if (target === undefined)
        return refuse(node, `nothing before it has the anchor &${node.source}; define it first`)
      if (path.includes(target))
        refuse(node, `*${node.source} stands for the value that it is part of; write that value out`)
      targets.set(node, target)
    },
  })
  return targets
}

/** A node as values of JavaScript. */
function toValue(top: Node, targets: ReadonlyMap<Node, Node>, refuse: Refuse): unknown {
  let parts = 0
  const plain = (node: Node | null, level: number): unknown => {
    if (node === null) return null
    if (++parts > partsMax) refuse(top, `a value has at most ${partsMax} parts; write it with fewer`)
    if (level > levelsMax) refuse(top, deep)
    if (isAlias(node)) return plain(targets.get(node) ?? null, level + 1)
    if (isSeq<Node>(node)) return node.items.map((item) => plain(item, level + 1))
    if (isMap<Node, Node | null>(node)) {
      return Object.fromEntries(node.items.map(({ key, value }) => [nameOf(key), plain(value, level + 1)]))
    }
    return isScalar(node) ? narrowed(node.value) : undefined
  }
  // Zeros in front give a node's index its width.
  return isScalar(top) && /^0\d+$/.test(top.source ?? '') ? top.source : plain(top, 0)
}

/** An integer as a number if a double holds it exactly. */
function narrowed(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** A value with a colon behind it, such as `engine: memory:`, reads as a map in YAML. */
function adviceOn({ code, pos: [start] }: YAMLError | YAMLWarning, text: string): string {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY' && code !== 'BLOCK_IN_FLOW') return ''
  const value = /^(?:[^\s#,{}[\]]|[ \t]+(?=[^\s#]))*/.exec(text.slice(start))?.[0] ?? ''
  return `; put a value with a colon into quotes: '${value.trim().slice(0, 60)}'`
}

function messageOf({ code, message }: YAMLError | YAMLWarning): string {
  // The parser calls itself for each level, until the stack is full.
  return code === 'RESOURCE_EXHAUSTION' ? deep : message.split('\n')[0]!
}
