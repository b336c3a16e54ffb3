/** What lock files promise about the packages that developers install; users install none, see package.test.ts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

type Locked = {
  readonly version: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: true
  /** Needed by development, or by an optional dependency or peer. */
  readonly devOptional?: true
  /** A workspace of this repository, under node_modules. */
  readonly link?: true
  readonly optional?: true
  readonly os?: readonly string[]
  readonly hasInstallScript?: true
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = join(import.meta.dirname, '..')
const { '': _project, ...packages }: Readonly<Record<string, Locked>> = readJson('package-lock.json').packages
const { allowScripts, workspaces } = readJson('package.json')
// The workspaces are no packages of a registry.
const entries = Object.entries(packages).filter(([path, { link }]) => !link && !workspaces.includes(path))

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

/** The paths of the packages for which a condition does not hold. */
function without(list: typeof entries, holds: (locked: Locked, path: string) => boolean): string[] {
  return list.filter(([path, locked]) => !holds(locked, path)).map(([path]) => path)
}

describe('the lock file', () => {
  test('has the SHA-512 of each package', () => {
    // The mirror from which it was written has these programs of developers' tools for two platforms, or one, only.
    const unhashed =
      /^node_modules\/(?:@biomejs\/cli-(?:android|darwin|win32|linux-\w+-musl)|@yuku-toolchain\/(?!linux-x64))/
    assert.deepEqual(
      without(entries, ({ integrity, dev, optional }, path) =>
        unhashed.test(path) && dev && optional ? true : /^sha512-[\w+/]{86}==$/.test(integrity ?? ''),
      ),
      [],
    )
  })

  test("has install scripts of developers' packages only where package.json allows them by name", () => {
    assert.deepEqual(
      without(entries, ({ hasInstallScript }, path) =>
        hasInstallScript ? allowScripts[path.replace('node_modules/', '')] === true : true,
      ),
      [],
    )
  })

  test('names no registry, so that every mirror serves it', () => {
    assert.deepEqual(
      without(entries, ({ resolved }) => resolved === undefined),
      [],
    )
  })
})

/** Folders of tests that install packages for themselves, and how many at least. */
const folders: readonly (readonly [folder: string, countMin: number])[] = [
  ['test/orm', 100],
  ['test/runtimes', 2],
]
for (const [folder, countMin] of folders) {
  describe(`the lock file of ${folder}`, () => {
    const { '': _tests, ...some }: Readonly<Record<string, Locked>> = readJson(
      `${folder}/package-lock.json`,
    ).packages
    const folderEntries = Object.entries(some)

    test('has the SHA-512 of each package, and names no registry', () => {
      assert.ok(folderEntries.length >= countMin)
      assert.deepEqual(
        without(folderEntries, ({ integrity, resolved }) => {
          return resolved === undefined && /^sha512-[\w+/]{86}==$/.test(integrity ?? '')
        }),
        [],
      )
    })

    test('has no install script that runs', () => {
      assert.match(readFileSync(join(root, folder, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m)
    })

    test('has the packages of every platform', () => {
      const named = folderEntries.flatMap(([, { optionalDependencies = {} }]) =>
        Object.keys(optionalDependencies),
      )
      assert.deepEqual(
        named.filter((name) => !folderEntries.some(([path]) => path.endsWith(`node_modules/${name}`))),
        [],
      )
    })

    test('has only licences under which the packages may be used to test', () => {
      const allowed = [
        ...['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0', 'Unlicense'],
        ...['LGPL-2.1-or-later', 'EPL-2.0'],
      ]
      // MIT, as their files LICENSE say; their descriptions of themselves leave it out.
      const unnamed = [
        'node_modules/seq-queue',
        'node_modules/node-22-linux-arm64',
        'node_modules/node-22-linux-x64',
      ]
      assert.deepEqual(
        without(folderEntries, ({ license }, path) =>
          license === undefined
            ? unnamed.includes(path)
            : license
                .replaceAll(/[()]/g, '')
                .split(/ (?:and|AND|OR) /)
                .every((each) => allowed.includes(each)),
        ),
        [],
      )
    })
  })
}
