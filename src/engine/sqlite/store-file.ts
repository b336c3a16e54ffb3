/**
 * The file of a store: the one path by which every process opens it.
 *
 * SQLite keeps the write-ahead log beside the path by which a file was opened; the owner lock and the position file are
 * there, too. A file with two paths has two logs: the processes of one path do not see the commits of the other. A
 * symbolic link is no second path, because it is resolved first; a hard link and a mount of the file by itself are.
 *
 * All processes that open a store run on one machine, since SQLite's shared memory and the owner's clock belong to one
 * kernel. So a file system that several machines can mount is refused.
 */
import {
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { describe, FahaoError } from '../../base/errors.ts'

/**
 * Returns the one path of a store, with symbolic links resolved, and creates its folder. Rejects with CONFIG if the URL
 * names no path, ENGINE if the folder cannot be created or if the file has a second path.
 */
export async function storeFileOf(location: string): Promise<string> {
  const hasHost = /^\/\/[^/]/.test(location)
  if (location === '' || location.startsWith(':') || hasHost) {
    throw new FahaoError(
      'CONFIG',
      `'sqlite:${location}' names no file; write sqlite:./data/fahao.db or sqlite:///var/lib/fahao.db`,
    )
  }
  const file = resolve(location.replace(/^\/\/\//, '/'))
  let place: string
  try {
    await makeFolder(dirname(file))
    place = realPlace(file)
  } catch (error) {
    throw new FahaoError(
      'ENGINE',
      `the folder ${dirname(file)} cannot be made (${describe(error)}); make it, or name another`,
      { cause: error },
    )
  }
  refuseSecondPath(place)
  return place
}

/**
 * Resolves symbolic links, also if the last one leads to a file that does not exist yet. Throws what `realpath` throws if
 * the folder is missing.
 */
export function realPlace(file: string): string {
  const path = join(realpathSync(dirname(file)), basename(file))
  try {
    return realpathSync(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    const target = linkTarget(path)
    return target === undefined ? path : realPlace(resolve(dirname(path), target))
  }
}

/**
 * Makes an empty file that its user alone can read, because a store contains secrets. SQLite gives the log the same mode.
 * Throws EEXIST if there is a file: the end of this call would drop SQLite's locks on it.
 */
export function makePrivateFile(file: string): void {
  writeFileSync(file, '', { flag: 'wx', mode: 0o600 })
}

/** Throws ENGINE if a store's file has, or can have, a second path. @param file with symbolic links resolved. */
export function refuseSecondPath(file: string): void {
  const links = linksOf(file)
  if (links > 1) {
    throw new FahaoError(
      'ENGINE',
      `${file} has ${links} hard links, and each name would have a write-ahead log of its own, so that ids would be repeated; list the names with find / -samefile '${file}' and remove all but one`,
    )
  }
  if (mountPoints(mountTable()).includes(file)) {
    throw new FahaoError(
      'ENGINE',
      `${file} is a mount of a single file: its write-ahead log would stay outside of the mount, so that ids would be repeated; mount the folder, not the file`,
    )
  }
}

/** Throws ENGINE if several machines can mount the file system of a store. @param file with symbolic links resolved. */
export function refuseNetwork(file: string): void {
  const folder = dirname(file)
  const name = networkFileSystem(typeOf(folder))
  if (name === undefined) return
  throw new FahaoError(
    'ENGINE',
    `${folder} is on ${name}, which several machines can mount, and two of them would repeat ids: SQLite's shared memory holds on one machine only; name a folder on a local disk, or use mysql:, postgres: or etcd: for several machines; or accept it with --unsafe-engine if one machine alone opens the store`,
  )
}

/** The name of a file system that several machines can mount, by its type number on Linux; statfs(2). */
export function networkFileSystem(type: number): string | undefined {
  return networkFileSystems.get(type)
}

const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'CephFS'],
])

/** 0 if the system does not tell. */
function typeOf(folder: string): number {
  try {
    return statfsSync(folder).type
  } catch {
    return 0
  }
}

/** The number of names of a file; 0 if there is none, or if it is no file. */
export function linksOf(file: string): number {
  let found: Stats | undefined
  try {
    found = statSync(file, { throwIfNoEntry: false })
  } catch {
    // SQLite reports why the file cannot be opened.
  }
  return found?.isFile() ? found.nlink : 0
}

/** The mount points in a mount table of Linux; proc_pid_mountinfo(5). */
export function mountPoints(mountinfo: string): string[] {
  return mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((path) => path.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8))))
}

/** Linux's mount table; empty where there is none. Other systems are not checked: they do not mount single files. */
function mountTable(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Node's recursive mkdir never returns if the system denies that a parent exists, as under /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder)
  }
  // Without this sync, a power failure could remove the folder, and the store with it.
  const parent = await open(dirname(folder))
  await parent.sync().finally(() => parent.close())
}
