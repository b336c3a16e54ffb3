/** One store has one path. A second path, which would have a second write-ahead log, is refused. */
import assert from 'node:assert/strict'
import fs, { existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../../../src/base/clock.ts'
import { backupSqlite, restoreSqlite } from '../../../../src/engine/sqlite/backup.ts'
import { openSqlite } from '../../../../src/engine/sqlite/engine.ts'
import { mountPoints, networkFileSystem, storeFileOf } from '../../../../src/engine/sqlite/store-file.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { temporaryFolder } from '../../../launch/places.ts'
import { runProgram } from '../../../launch/program.ts'
import { freshFile, mine, openStore, withStore } from './stores.ts'

const hardLinks = { code: 'ENGINE', message: /has 2 hard links.*remove all but one/ }

describe('a store that has a second hard link', () => {
  test('is opened by neither name, and leaves no file beside them, until one name is removed', async (t) => {
    const file = freshFile(t)
    const other = join(temporaryFolder(t), 'other.db')
    await withStore(file, (engine) => engine.reserve('a', { size: 3n, ...mine }))
    linkSync(file, other)
    await assert.rejects(openSqlite(other, engineOptions()), hardLinks)
    await assert.rejects(openSqlite(file, engineOptions()), hardLinks)
    assert.deepEqual(readdirSync(join(other, '..')), ['other.db'])
    rmSync(file)
    const { engine } = await openStore(t, other)
    assert.equal((await engine.reserve('a', { size: 1n, ...mine })).start, 3n)
  })

  test('cannot be opened by the new name while a process has it open by the old one', async (t) => {
    const file = freshFile(t)
    const { engine } = await openStore(t, file)
    await engine.reserve('a', { size: 3n, ...mine })
    linkSync(file, `${file}.link`)
    await assert.rejects(openSqlite(`${file}.link`, engineOptions()), hardLinks)
  })

  test('is neither copied, because the copy would lack the other log, nor replaced', async (t) => {
    const file = freshFile(t)
    await withStore(file, (engine) => engine.reserve('a', { size: 3n, ...mine }))
    backupSqlite(file, `${file}.copy`)
    linkSync(file, `${file}.link`)
    assert.throws(() => backupSqlite(`${file}.link`, `${file}.new`), hardLinks)
    assert.throws(() => restoreSqlite(`${file}.copy`, file, { skip: 0n, clock: systemClock }), hardLinks)
    assert.equal(existsSync(`${file}.new`), false)
  })
})

test('a store behind a symbolic link is the same store before and after its file exists', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'disk'))
  symlinkSync('../disk', join(folder, 'disk', 'here'))
  symlinkSync(join('disk', 'here', 'fahao.db'), join(folder, 'link.db'))
  const byLink = await openStore(t, join(folder, 'link.db'))
  assert.deepEqual(await byLink.engine.ownership(), { state: 'owner' })
  const byPath = await openStore(t, join(folder, 'disk', 'fahao.db'))
  assert.equal((await byPath.engine.ownership()).state, 'other')
  assert.deepEqual(readdirSync(folder).sort(), ['disk', 'link.db'])
})

describe('a mount', () => {
  test('of the file of a store by itself is refused, and one of its folder is not', async (t) => {
    const folder = temporaryFolder(t)
    for (const name of ['store', 'by file', 'by folder']) mkdirSync(join(folder, name))
    await withStore(join(folder, 'store', 'fahao.db'), async () => {})
    await withStore(join(folder, 'by file', 'fahao.db'), async () => {})
    const module = pathToFileURL(join(import.meta.dirname, '../../../../src/engine/sqlite/store-file.ts'))
    const script = `
      const { storeFileOf } = await import('${module}')
      for (const name of ['by file', 'by folder'])
        await storeFileOf(\`\${process.argv[1]}/\${name}/fahao.db\`).then(console.log, (error) => console.log(error.code, error.message))`
    // The mount namespace ends with the process, and the mounts with it. The kernel must allow such a namespace.
    const mounts = `cd "$1" && mount --bind store/fahao.db 'by file/fahao.db' && mount --bind store 'by folder' && exec "$2" --input-type=module -e "$3" "$1"`
    const namespace = ['unshare', '--mount', '--map-root-user']
    const printed = await runProgram([
      ...namespace,
      'sh',
      '-c',
      mounts,
      '-',
      folder,
      process.execPath,
      script,
    ])
    const [byFile, byFolder] = printed.split('\n')
    assert.match(byFile!, /^ENGINE .*by file\/fahao\.db is a mount of a single file.*mount the folder/)
    assert.equal(byFolder, join(folder, 'by folder', 'fahao.db'))
  })

  test('is read from the table of mounts as the kernel writes it', () => {
    const table = [
      '24 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
      '63 24 254:0 /srv/a\\040b/fahao.db /data/a\\040b\\134c/fahao.db rw - ext4 /dev/vda rw',
      '',
    ]
    assert.deepEqual(mountPoints(table.join('\n')), ['/', '/data/a b\\c/fahao.db', ''])
  })
})

test('a path below links without end is refused', async (t) => {
  const folder = temporaryFolder(t)
  symlinkSync('b.db', join(folder, 'a.db'))
  symlinkSync('a.db', join(folder, 'b.db'))
  await assert.rejects(storeFileOf(join(folder, 'a.db')), { code: 'ENGINE', message: /ELOOP/ })
})

describe('a store on a file system that several machines can mount', () => {
  const local = { ext4: 0xef53, xfs: 0x58465342, btrfs: 0x9123683e, tmpfs: 0x01021994, overlay: 0x794c7630 }
  const network = { NFS: 0x6969, CIFS: 0xff534d42, SMB: 0xfe534d42, '9p': 0x01021997, CephFS: 0x00c36400 }

  test('is recognized by the type number, and no local one is', () => {
    for (const [name, type] of Object.entries(network)) assert.equal(networkFileSystem(type), name)
    for (const type of [0, ...Object.values(local)]) assert.equal(networkFileSystem(type), undefined)
  })

  test('is refused with a remedy, and opened when the operator accepts it', async (t) => {
    const statfs = t.mock.method(fs, 'statfsSync', () => ({ type: 0x6969 }))
    syncBuiltinESMExports()
    t.after(() => {
      statfs.mock.restore()
      syncBuiltinESMExports()
    })
    const file = freshFile(t)
    const refusal = { code: 'ENGINE', message: /is on NFS.*repeat ids.*local disk.*--unsafe-engine/ }
    await assert.rejects(openSqlite(file, engineOptions()), refusal)
    assert.equal(existsSync(file), false)
    await openStore(t, file, { unsafe: true })
  })
})
