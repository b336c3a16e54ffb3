/**
 * The format of what nodes share: the records that they keep in the engine, and the requests that they forward. A version of
 * Fahao writes one format and reads a run of them. Nodes of two versions work together while each reads what the other writes.
 *
 * A change that the version before cannot read takes two versions: the first reads the new format and writes the old one, the
 * second writes the new one. Then nodes can be upgraded, and put back, one by one.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import {
  type Known,
  type NodeFormat,
  type NodeOfAnyFormat,
  nodePrefix,
  ownFormat,
  readNodeOfAnyFormat,
} from './records.ts'
import { clusterSettings } from './settings.ts'

/** The format of nodes whose record names none. */
const unnamedFormat: NodeFormat = { writes: 2, reads: [2, 2] }

/** Why a node cannot run beside one of format `own`; undefined: it can. */
export function misfit(
  { id, resp, version, format = unnamedFormat }: NodeOfAnyFormat,
  own = ownFormat,
): string | undefined {
  if (reads(own, format) && reads(format, own)) return undefined
  return `node ${resp ?? id} runs version ${version}, which writes ${textOf(format)}, where this one writes ${textOf(own)}`
}

/**
 * Rejects with ENGINE while a node runs that cannot read what this version writes, or writes what it cannot read. A node that
 * has not renewed for a lease and a margin does not run.
 */
export async function refuseMisfits(engine: Engine, clock: Clock, own = ownFormat): Promise<void> {
  const settings = await clusterSettings(engine)
  if (settings === undefined) return
  const heard = new Map((await misfits(engine, own)).map(({ key, version }) => [key, version]))
  const { leaseTtlMs, marginMs } = settings
  const untilUs = clock.monoUs() + (leaseTtlMs + marginMs) * 1000
  while (heard.size > 0 && clock.monoUs() < untilUs) {
    // Nothing else keeps a process alive that starts.
    await new Promise<void>((resolve) => clock.timer(leaseTtlMs / 6, resolve, true))
    const running = (await misfits(engine, own)).find(({ key, version }) => version !== heard.get(key))
    if (running === undefined) continue
    const advice = 'upgrade by way of a version that reads both, or stop every node before this one starts'
    throw new FahaoError('ENGINE', `${misfit(running.value, own)}; ${advice}`)
  }
}

/** The nodes on record that are not dead there. */
async function misfits(engine: Engine, own: NodeFormat): Promise<Known<NodeOfAnyFormat>[]> {
  return (await listAll(engine, nodePrefix)).map(readNodeOfAnyFormat).filter(({ value }) => {
    return value.deadBy === undefined && misfit(value, own) !== undefined
  })
}

function reads({ reads: [oldest, newest] }: NodeFormat, { writes }: NodeFormat): boolean {
  return oldest <= writes && writes <= newest
}

function textOf({ writes, reads: [oldest, newest] }: NodeFormat): string {
  return `format ${writes} and reads ${oldest === newest ? oldest : `${oldest} to ${newest}`}`
}
