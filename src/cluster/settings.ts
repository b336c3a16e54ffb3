/** The settings of an installation: written by the first node of the cluster, and never changed. */
import { FahaoError, hasCode } from '../base/errors.ts'
import { formatDuration } from '../base/units.ts'
import type { Engine } from '../engine/engine.ts'
import { readSettings, type SettingsRecord, settingsKey } from './records.ts'
import { shardsMax } from './slots.ts'
import { timing } from './timing.ts'

/** Settings that a node was started with; for the others the recorded ones apply. */
export type WantedSettings = Pick<SettingsRecord, 'cluster'> & {
  readonly [Setting in 'shards' | 'leaseTtlMs' | 'marginMs']?: number | undefined
}

/** Number of shards if the first node names none. */
const shardsDefault = 16

/** The settings of the cluster that this engine holds; undefined: the installation is no cluster. */
export async function clusterSettings(engine: Engine): Promise<SettingsRecord | undefined> {
  const stored = await engine.read(settingsKey)
  return stored && readSettings(stored).value
}

/**
 * Makes sure that the installation has these settings, writing them if it has none. Resolves to those recorded.
 * Rejects with CONFIG, naming both values, where they differ; otherwise as the engine does, and may then be repeated.
 */
export async function agreeOnSettings(engine: Engine, wanted: WantedSettings): Promise<SettingsRecord> {
  const { cluster, shards = shardsDefault } = wanted
  if (!Number.isSafeInteger(shards) || shards < 1 || shards > shardsMax)
    throw new FahaoError('CONFIG', `--shards must be from 1 to ${shardsMax}, not ${shards}`)
  const { ttlMs, marginMs } = timing(wanted)
  let settings = await clusterSettings(engine)
  if (settings === undefined) {
    const first = { cluster, shards, leaseTtlMs: ttlMs, marginMs } satisfies SettingsRecord
    // Whether or not this write is carried out, the record that is read afterwards applies.
    await engine.write(settingsKey, JSON.stringify(first), undefined).catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN')) throw error
    })
    settings = await clusterSettings(engine)
  }
  if (settings === undefined)
    throw new FahaoError('UNAVAILABLE', 'the settings of the cluster could not be written; retry')
  refuse('--cluster', 'the cluster', settings.cluster, cluster)
  refuse('--shards', 'the number of shards', settings.shards, wanted.shards)
  refuse('--lease-ttl', 'the lease', settings.leaseTtlMs, wanted.leaseTtlMs, formatDuration)
  if (wanted.marginMs !== undefined && wanted.marginMs !== settings.marginMs)
    throw new FahaoError(
      'CONFIG',
      `the margin of this installation's leases is ${settings.marginMs} ms, not ${wanted.marginMs} ms`,
    )
  return settings
}

/** Throws CONFIG where the stored value is not the wanted one; undefined: any will do. */
function refuse<Value extends string | number>(
  flag: string,
  what: string,
  stored: Value,
  wanted: Value | undefined,
  text: (value: Value) => string = String,
): void {
  if (wanted === undefined || stored === wanted) return
  throw new FahaoError(
    'CONFIG',
    `${what} of this installation is ${text(stored)}, and this node was started with ${text(wanted)}; start it with ${flag} ${text(stored)}`,
  )
}
