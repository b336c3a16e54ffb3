/** Starts bare-keys.ts. */
import { join } from 'node:path'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { freePort } from '../test/launch/places.ts'
import { startProcess } from '../test/launch/process.ts'

/** The minimal server for many keys, on a free port. */
export async function startBareKeys(
  lifetime: Lifetime,
): Promise<{ readonly port: number; readonly pid: number }> {
  const port = await freePort()
  const { pid } = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-keys.ts'), `${port}`],
    readyWhen: { port },
  })
  return { port, pid }
}
