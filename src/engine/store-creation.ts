/** The start on a store that does not exist yet: a mistyped URL leads to one, as the first start does. */
import { FahaoError } from '../base/errors.ts'
import type { EngineOptions } from './engine-options.ts'

/**
 * Call this before creating a store. Throws ENGINE if `newStore` refuses it; otherwise returns a function that logs the
 * creation.
 * @param place the store's location without secrets.
 */
export function newStore({ newStore, onEvent }: EngineOptions, place: string): () => void {
  if (newStore === 'refuse') {
    throw new FahaoError(
      'ENGINE',
      `there is no store ${place}, and require-store is on; name the right one with --engine, restore a backup, or start once without require-store`,
    )
  }
  const message = `there was no store ${place}: created an empty one, in which every generator starts anew`
  return () => onEvent({ level: newStore === 'warn' ? 'warn' : 'info', message })
}
