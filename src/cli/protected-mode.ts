/**
 * Protected mode: an address that other machines can reach needs users, so that there is a login. The first user is the
 * administrator `admin`, made here.
 */

import { passwordBytesMax } from '../auth/passwords.ts'
import { readRules } from '../auth/user.ts'
import { addressText } from '../base/address.ts'
import { secretBytes } from '../base/clock.ts'
import type { Config } from '../config/config-schema.ts'
import { configError, isLoopback } from '../config/config-values.ts'
import { adminPasswordVariable } from '../config/load-config.ts'
import type { FahaoNode } from '../node/node.ts'
import { print } from './terminal.ts'

const admin = 'admin'

/**
 * Makes the first administrator if there are no users yet: with the password of FAHAO_ADMIN_PASSWORD, or, on a terminal and
 * if other machines can reach the server, with one that is printed here and nowhere else. Rejects with CONFIG if the server
 * would be open to other machines without a login. Call it before anything listens.
 */
export async function protect(node: FahaoNode, env: NodeJS.ProcessEnv, isTerminal: boolean): Promise<void> {
  const { users } = node.access
  // After the removal of all users a login is needed, and no user is left for it.
  if (users.areStored && users.all().length > 0) return
  const given = env[adminPasswordVariable]
  if (given) {
    if (Buffer.byteLength(given) > passwordBytesMax)
      throw configError(
        `${adminPasswordVariable} is longer than ${passwordBytesMax} bytes; give a shorter password`,
      )
    return createAdmin(node, given)
  }
  const open = openAddresses(node.config)
  if (node.config.insecure || open.length === 0) return
  if (!isTerminal) {
    throw configError(
      `other machines can reach ${open.join(' and ')}, and there are no users; give the first administrator a password in ${adminPasswordVariable}, listen on 127.0.0.1, or add --insecure where the network admits only your own clients`,
    )
  }
  const password = Buffer.from(secretBytes(24)).toString('base64url')
  await createAdmin(node, password)
  print(
    '',
    `The first user is '${admin}', with the password`,
    '',
    `  ${password}`,
    '',
    `It is shown this once. Change it with: fahao user set ${admin} resetpass --password --user ${admin}`,
    '',
  )
}

/**
 * A sentence for each user that a setting names and that does not exist, and for a proxy that may take no ids; none while
 * there are no users.
 */
export function missingUsers({ access: { users }, config }: FahaoNode): string[] {
  if (!users.areStored) return []
  const isMissing = (user: string) => users.get(user) === undefined
  const sentences = config.compatUser
    .filter(({ user }) => isMissing(user))
    .map(
      ({ api, user }) =>
        `compat-user ${api}=${user}: there is no user '${user}', so requests without credentials are refused until it is created`,
    )
  const { mysqlProxy, mysqlProxyUser, table } = config
  if (mysqlProxy === undefined || table.length === 0) return sentences
  if (mysqlProxyUser === undefined) {
    sentences.push(
      'there are users, and no mysql-proxy-user: the MySQL proxy gets no ids until that names one',
    )
  } else if (isMissing(mysqlProxyUser)) {
    sentences.push(
      `mysql-proxy-user ${mysqlProxyUser}: there is no user '${mysqlProxyUser}', so the MySQL proxy gets no ids until it is created`,
    )
  }
  return sentences
}

async function createAdmin({ access }: FahaoNode, password: string): Promise<void> {
  const rules = readRules(['on', `>${password}`, '~*', '+@all'], access.subjects, access.passwords)
  await access.users.set(admin, rules)
}

/** The addresses that other machines can reach. */
function openAddresses({ resp, http, postgres, compatHttp }: Config): string[] {
  return [resp, http, postgres, ...compatHttp.map(({ address }) => address)]
    .filter((address) => address !== undefined)
    .filter((address) => !isLoopback(address))
    .map(addressText)
}
