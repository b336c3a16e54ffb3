/**
 * The generation of the virtual machine that this process runs in, where the machine shows it to programs: Linux 6.13 and
 * later map the VMClock device to `/dev/vmclock0`. The hypervisor changes two fields of its page: one when the machine
 * was restored from a snapshot, the other when the processor's counter was disrupted, as by a restore or a live
 * migration. Specification: https://uapi-group.org/specifications/specs/vmclock/
 *
 * `base/copy-detector.ts` compares it with the last one. Linux has no other way for programs to read it: VMGenID is seen by the kernel alone, and by udev as an event.
 */
import { openSync, readSync } from 'node:fs'
import type { CopyMark } from '../base/copy-detector.ts'

const vmClockPath = '/dev/vmclock0'

/** Fields of `struct vmclock_abi`, in bytes from its start, all little-endian. */
const magicAt = 0
const disruptionAt = 16
const flagsAt = 24
const generationAt = 104
const pageBytes = 112

const magic = 0x4b4c4356
const hasGeneration = 1n << 8n

/** The mark of this machine; undefined: the machine has no such device, or this process may not read it. */
export function vmGeneration(path: string = vmClockPath): CopyMark | undefined {
  let page: () => Buffer
  try {
    const descriptor = openSync(path, 'r')
    const buffer = Buffer.alloc(pageBytes)
    page = () => {
      buffer.fill(0)
      readSync(descriptor, buffer, 0, pageBytes, 0)
      return buffer
    }
    if (page().readUInt32LE(magicAt) !== magic) return undefined
  } catch {
    return undefined
  }
  const read = () => {
    try {
      return generationOf(page())
    } catch {
      return undefined
    }
  }
  return { name: 'the generation of the virtual machine', read }
}

/** Both fields in one text. Where the machine does not count its restores, a disruption alone is shown. */
function generationOf(page: Buffer): string {
  const disruption = page.readBigUInt64LE(disruptionAt)
  const counts = (page.readBigUInt64LE(flagsAt) & hasGeneration) !== 0n
  return counts ? `${disruption} ${page.readBigUInt64LE(generationAt)}` : `${disruption}`
}
