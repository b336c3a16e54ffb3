/**
 * npm run house: the rooms of src, each with its files, its lines of code (no comments, no blank lines) and its files that
 * only one file imports; the circles; the sums. With `--single`: those files, each with its importer.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { circles, importsInside } from '../test/tidy/layers.ts'
import { readSource } from '../test/tidy/source.ts'

type Room = { files: number; code: number; single: number }

const { values } = parseArgs({ options: { single: { type: 'boolean', default: false } } })
const root = join(import.meta.dirname, '..')
const paths = globSync('src/**/*.ts', { cwd: root }).sort()
const tree = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
const importers = new Map<string, string[]>()
for (const [path, targets] of importsInside(tree))
  for (const target of new Set(targets)) importers.set(target, [...(importers.get(target) ?? []), path])

const rooms = new Map<string, Room>()
const sum: Room = { files: 0, code: 0, single: 0 }
for (const [path, text] of tree) {
  const room = rooms.get(dirname(path)) ?? { files: 0, code: 0, single: 0 }
  rooms.set(dirname(path), room)
  const { uncommented } = readSource(text)
  const code = uncommented.split('\n').filter((line) => line.trim() !== '').length
  const single = importers.get(path)?.length === 1 ? 1 : 0
  for (const each of [room, sum]) {
    each.files++
    each.code += code
    each.single += single
  }
  if (values.single && single === 1) console.log(`${path} <- ${importers.get(path)![0]}`)
}
if (!values.single) {
  console.log('files   code  single importer  room')
  for (const [name, room] of [...rooms].sort()) console.log(line(room, name))
  console.log(line(sum, 'sum'))
  const found = circles(tree)
  console.log(found.length === 0 ? 'no circles' : found.join('\n'))
}

function line({ files, code, single }: Room, name: string): string {
  return `${String(files).padStart(5)} ${String(code).padStart(6)} ${String(single).padStart(16)}  ${name}`
}
