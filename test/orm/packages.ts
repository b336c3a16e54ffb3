/** The packages of the ORMs, which the project itself does not need: installed here when a test first wants them. */
import { installPackages as install } from '../launch/packages.ts'

/** Call it before the first import of an ORM, which must be dynamic. */
export function installPackages(): Promise<void> {
  return install(import.meta.dirname, 'The ORMs')
}
