/** Names that look like other names. Lists, errors and the audit trail show names to people, who take one for the other. */
import { FahaoError } from './errors.ts'

/** Marks that change the direction of text or have no width, and the language tags. */
const unseen = /\p{Default_Ignorable_Code_Point}/u

/**
 * Throws ERR if `name` looks like another name. Call it when something is created: what exists keeps its name.
 * @param what what is created, in the message: generator.
 */
export function refuseLookAlike(name: string, what: string): void {
  if (unseen.test(name)) {
    throw new FahaoError(
      'ERR',
      `the name of a new ${what} cannot contain characters without width or marks of direction: it would look like another name; leave them out`,
    )
  }
  if (name !== name.normalize('NFC')) {
    throw new FahaoError(
      'ERR',
      `the name of a new ${what} must be in Unicode’s form NFC, as keyboards write it: another form looks the same; normalize it`,
    )
  }
}
