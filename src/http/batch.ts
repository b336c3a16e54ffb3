/** Ids of runs as the body of an answer, made in as many turns of the event loop as it needs. */

import { idBytesMax, writeRun } from '../ids/digits.ts'
import type { Run } from '../ids/run.ts'
import { turns } from './turns.ts'

/** What stands before the ids, between two of them, and after them. ASCII. */
export type Frame = { readonly head: string; readonly separator: Uint8Array; readonly tail: string }

/** A frame of these three texts. */
export function frameOf(head: string, separator: string, tail: string): Frame {
  return { head, separator: Buffer.from(separator), tail }
}

/** Up to this size text is cheaper to hand to a socket than bytes. */
const textBytesMax = 16_384
/** One for all answers that small: it is read before anything else can run. */
const scratch = Buffer.allocUnsafeSlow(textBytesMax)
/** Smaller batches are never put off. */
const countSmall = 1000
/** Texts with a format are made in pieces of so many ids, and take the time of so many plain ones each. */
const pieceCount = 500
const formatUnits = 100

/** The ids of `runs` in decimal, within `frame`. */
export async function plainBatch(runs: readonly Run[], frame: Frame): Promise<string | Buffer> {
  const count = runs.reduce((sum, run) => sum + run.count, 0)
  if (count > countSmall) await turns.take(count)
  const { head, separator, tail } = frame
  const bytesMax = head.length + count * (idBytesMax + separator.length) + tail.length
  const bytes = bytesMax > textBytesMax ? Buffer.allocUnsafeSlow(bytesMax) : scratch
  let end = bytes.write(head, 'latin1')
  for (const [index, run] of runs.entries()) {
    if (index > 0) {
      bytes.set(separator, end)
      end += separator.length
    }
    end = writeRun(bytes, end, run, separator)
  }
  end += bytes.write(tail, end, 'latin1')
  return bytes === scratch ? scratch.toString('latin1', 0, end) : bytes.subarray(0, end)
}

/** The texts that `show` makes of the ids of `runs`. */
export async function formattedTexts(runs: readonly Run[], show: (id: bigint) => string): Promise<string[]> {
  const texts: string[] = []
  for (const run of runs) {
    for (let index = 0; index < run.count; index++) {
      if (texts.length % pieceCount === 0) await turns.take(pieceCount * formatUnits)
      texts.push(show(run.at(index)))
    }
  }
  return texts
}
