/** The value under a counter's key. */
import { FahaoError } from '../../base/errors.ts'
import type { Counter } from '../engine.ts'

/** Encodes a counter as the value of its key. */
export function encodeCounter({ bound, fence, incarnation, version }: Counter): Buffer {
  return Buffer.from(`${bound} ${fence} ${incarnation} ${version}`)
}

/** Throws ENGINE when the value is not a counter: a damaged counter that was read as unused would begin at 0. */
export function decodeCounter(name: string, value: Buffer): Counter {
  const [, bound, fence, incarnation, version] = /^(\d+) (\d+) (\d+) (\d+)$/.exec(value.toString()) ?? []
  if (version === undefined)
    throw new FahaoError('ENGINE', `counter '${name}' holds something that no Fahao wrote; restore it`)
  return {
    bound: BigInt(bound!),
    fence: BigInt(fence!),
    incarnation: BigInt(incarnation!),
    version: BigInt(version),
  }
}
