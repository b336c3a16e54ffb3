/** The two ends of an import: the old service's table, and the target store. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import type { EngineOptions } from '../../engine/engine-options.ts'
import { openEngine } from '../../engine/open.ts'
import { openLegacyTable } from '../open.ts'
import type { LegacyTable } from '../table.ts'
import { TakingOut } from './taking-out.ts'

/** Both ends, open. */
export type ImportStores = {
  readonly table: LegacyTable
  readonly takingOut: TakingOut
  readonly target: Engine
  /** Whether both ends are in one database, by their URLs. */
  readonly together: boolean
  readonly close: () => Promise<void>
}

const defaultPorts: Readonly<Record<string, string>> = { mysql: '3306', postgres: '5432' }
const schemes: Readonly<Record<string, string>> = { mariadb: 'mysql', postgresql: 'postgres' }

/** Opens both. Rejects with CONFIG for a wrong URL, ENGINE for what cannot be used. `dryRun`: makes no tables. */
export async function openStores(from: string, into: string, dryRun: boolean): Promise<ImportStores> {
  if (/[?&]schema=/.test(into))
    throw new FahaoError('CONFIG', "--into names Fahao's own tables: leave schema= out of it")
  const options: EngineOptions = {
    clock: systemClock,
    callTimeoutMs: 10_000,
    onEvent: ({ level, message }) => console.error(`${level}: ${message}`),
  }
  const together = sameDatabase(from, into)
  const table = await openLegacyTable(from, options)
  const takingOut = new TakingOut(table)
  try {
    const empty = dryRun && (together ? !(await takingOut.hasStore()) : isMissingFile(into))
    const target = await openEngine(empty ? 'memory:' : into, options)
    return {
      table,
      takingOut,
      target,
      together,
      async close() {
        await target.close()
        await table.close()
      },
    }
  } catch (error) {
    await table.close()
    throw error
  }
}

/** Whether two URLs name one database; a host by two names counts as two. */
export function sameDatabase(a: string, b: string): boolean {
  const database = databaseOf(a)
  return database !== undefined && database === databaseOf(b)
}

function databaseOf(url: string): string | undefined {
  const [, given = '', rest = ''] = /^(\w+):(\/\/.*)$/.exec(url) ?? []
  const scheme = schemes[given] ?? given
  const defaultPort = defaultPorts[scheme]
  if (defaultPort === undefined) return undefined
  try {
    const { hostname, port, pathname, searchParams } = new URL(`${scheme}:${rest}`)
    const socket = searchParams.get('socket')
    return `${scheme}:${socket ?? `${hostname.toLowerCase()}:${port || defaultPort}`}${pathname}`
  } catch {
    return undefined
  }
}

function isMissingFile(url: string): boolean {
  const file = /^sqlite:(.+)$/.exec(url)?.[1]
  return file !== undefined && !existsSync(file)
}
