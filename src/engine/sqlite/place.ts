/** Where a store is. */
import { mkdir, open, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { describe, FahaoError } from '../../base/errors.ts'

/**
 * The one path of a store, whichever links lead to it; its folder is made. Rejects with CONFIG when what follows
 * `sqlite:` in the URL is no path, ENGINE when the folder cannot be made.
 */
export async function placeOf(location: string): Promise<string> {
  const hasHost = /^\/\/[^/]/.test(location)
  if (location === '' || location.startsWith(':') || hasHost) {
    throw new FahaoError(
      'CONFIG',
      `'sqlite:${location}' names no file; write sqlite:./data/fahao.db or sqlite:///var/lib/fahao.db`,
    )
  }
  const file = resolve(location.replace(/^\/\/\//, '/'))
  try {
    await makeFolder(dirname(file))
    const folder = await realpath(dirname(file))
    return await realpath(file).catch(() => join(folder, basename(file)))
  } catch (error) {
    throw new FahaoError(
      'ENGINE',
      `the folder ${dirname(file)} cannot be made (${describe(error)}); make it, or name another`,
      { cause: error },
    )
  }
}

/** Node's own recursive mkdir never returns where the system denies that a parent exists, as under /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder)
  }
  // A store that was acknowledged must not go with its folder when the power does.
  const parent = await open(dirname(folder))
  await parent.sync().finally(() => parent.close())
}
