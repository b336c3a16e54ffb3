/** What `fahao restore` says of the users and tokens that a copy brings back. */
import type { Revived } from '../auth/revived.ts'

/** The lines, each with what to do; none if nothing comes back. `areRevoked`: all tokens of the copy were revoked. */
export function revivedLines(revived: Revived, areRevoked: boolean): string[] {
  const { isCompared, removedUsers, passwords, permissions, tokens } = revived
  const lines = isCompared
    ? [
        ...line(removedUsers, 'users that are no more can log in again; remove them: fahao user remove NAME'),
        ...line(passwords, 'users have their earlier passwords again; set new ones: fahao user set NAME'),
        ...line(permissions, 'users have their earlier permissions again; check them: fahao user list'),
      ]
    : line(
        removedUsers,
        'the replaced store cannot be read, so these users may have been removed or changed since the copy; check them: fahao user list',
      )
  if (areRevoked) return [...lines, 'every token of the copy was revoked']
  const what = isCompared
    ? 'revoked tokens are valid again'
    : 'these tokens are valid, and may have been revoked since the copy'
  return [
    ...lines,
    ...line(tokens, `${what}; revoke them: fahao token revoke ID, or restore with --revoke-tokens`),
  ]
}

function line(names: readonly string[], what: string): string[] {
  return names.length === 0 ? [] : [`${what}: ${names.join(', ')}`]
}
