/** What an installation is: written by the first node of the cluster, and never changed. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { readSettings, type SettingsRecord, settingsKey } from './records.ts'
import { shardsMax } from './slots.ts'

/** The settings of the cluster that this engine holds; undefined: the installation is no cluster. */
export async function clusterSettings(engine: Engine): Promise<SettingsRecord | undefined> {
  const stored = await engine.read(settingsKey)
  return stored && readSettings(stored).value
}

/**
 * Makes sure that the installation has these settings, writing them if it has none. Rejects with CONFIG, naming both
 * values, where they differ; otherwise as the engine does, and may then be repeated.
 */
export async function agreeOnSettings(engine: Engine, wanted: SettingsRecord): Promise<void> {
  const { shards } = wanted
  if (!Number.isSafeInteger(shards) || shards < 1 || shards > shardsMax)
    throw new FahaoError('CONFIG', `--shards must be from 1 to ${shardsMax}, not ${shards}`)
  let settings = await clusterSettings(engine)
  if (settings === undefined) {
    // Whatever becomes of this write, the record that stands afterwards is the one that counts.
    await engine.write(settingsKey, JSON.stringify(wanted), undefined).catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN')) throw error
    })
    settings = await clusterSettings(engine)
  }
  if (settings === undefined)
    throw new FahaoError('UNAVAILABLE', 'the settings of the cluster could not be written; retry')
  refuse('--cluster', 'the cluster', settings.cluster, wanted.cluster)
  refuse('--shards', 'the number of shards', settings.shards, wanted.shards)
}

function refuse(flag: string, what: string, stored: string | number, wanted: string | number): void {
  if (stored === wanted) return
  throw new FahaoError(
    'CONFIG',
    `${what} of this installation is ${stored}, and this node was started with ${wanted}; start it with ${flag} ${stored}`,
  )
}
