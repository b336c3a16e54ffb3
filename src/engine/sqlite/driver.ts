/**
 * Node's SQLite. Node 22 prints a warning that it is experimental at its first use. The warning is suppressed: operators
 * cannot act on it, and the tests cover the parts in use.
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

/** Calls `load`, and suppresses the warning that SQLite is experimental, and no other. */
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
