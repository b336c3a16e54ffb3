/**
 * SQLite as Node has it. Node 22 warns on stderr that it is experimental when it is first used; nobody who runs
 * Fahao can do anything about that, and what is relied on here is tested.
 */
import { FahaoError } from '../../base/errors.ts'

type Sqlite = typeof import('node:sqlite')

/** See Node's manual. */
export const DatabaseSync: Sqlite['DatabaseSync'] = withoutWarning(() => sqliteOfNode().DatabaseSync)
/** A connection. */
export type DatabaseSync = InstanceType<Sqlite['DatabaseSync']>

function sqliteOfNode(): Sqlite {
  const sqlite = process.getBuiltinModule?.('node:sqlite')
  if (sqlite !== undefined) return sqlite
  throw new FahaoError(
    'ENGINE',
    `Fahao needs Node 22.18 or later, and this is ${process.version}; run it with a newer one`,
  )
}

/** Loads something; what warns meanwhile that SQLite is experimental is not heard, all else is. */
export function withoutWarning<Loaded>(load: () => Loaded): Loaded {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...about: unknown[]) => {
    if (about[0] === 'ExperimentalWarning' && /SQLite/.test(String(warning))) return
    Reflect.apply(emitWarning, process, [warning, ...about])
  }) as typeof process.emitWarning
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
