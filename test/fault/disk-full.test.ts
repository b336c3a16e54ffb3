/** A disk without room. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { atEnd } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { diskFault, startWithSmallBuffers } from './disk-fault.ts'
import type { Fault } from './trace.ts'

/** A file system of 512 KiB. */
function tinyDisk(t: TestContext): string {
  const folder = temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    throw new Error('a small disk could not be mounted: run this test as root', { cause: error })
  }
  atEnd(t, () => execFileSync('umount', [folder], { stdio: 'pipe' }))
  return folder
}

/** Takes every byte that is free, and every byte that becomes free. */
function fill(t: TestContext, folder: string): Fault {
  const filler = join(folder, 'filler')
  const more = () => {
    for (const chunk of [Buffer.alloc(16_384), Buffer.alloc(1)]) {
      try {
        for (;;) appendFileSync(filler, chunk)
      } catch {
        // Full.
      }
    }
  }
  more()
  const timer = setInterval(more, 5)
  const end = async () => {
    clearInterval(timer)
    rmSync(filler, { force: true })
  }
  atEnd(t, end)
  return { end }
}

test('a server on a full disk issues what it has buffered, then gives the reason of its errors, then comes back', {
  timeout: 1_200_000,
}, async (t) => {
  const folder = tinyDisk(t)
  const server = await startWithSmallBuffers(t, `sqlite:${join(folder, 'fahao.db')}`)
  await diskFault(t, 'the disk is full', server, async () => fill(t, folder), /is on a full disk: free some/)
})
