/** Ids for the MySQL proxy from the node in this process, with the permissions of the user of `mysql-proxy-user`. */
import type { AccessControl } from '../auth/access-control.ts'
import { type Address, addressText } from '../base/address.ts'
import { FahaoError } from '../base/errors.ts'
import { CallerSession } from '../commands/caller-session.ts'
import type { Caller } from '../commands/in-process.ts'
import { Run } from '../ids/run.ts'
import type { Certificates } from '../node/certificates.ts'
import type { FahaoNode } from '../node/node.ts'
import type { IdSupply } from '../proxy/id-supply.ts'
import { openInProcess } from './in-process.ts'

/** A supply, and what closes the connections to other nodes. */
export type NodeSupply = IdSupply & { close(): void }

type Drawn = { readonly ids: readonly string[]; readonly isText: boolean }

/** Opens the supply of a proxy that listens at `address`. @param id of its session. */
export function nodeSupply(
  node: FahaoNode,
  address: Address,
  tls: Certificates | undefined,
  id: number,
): NodeSupply {
  const { access, config, mayIssue } = node
  const inProcess = openInProcess(node, tls)
  const present = () => accessOf(access, config.mysqlProxyUser)
  const place = addressText(address)
  const facts = { id, address: place, localAddress: place, door: 'mysql', access: present() }
  const session = new CallerSession(facts, { unreadBytes: () => 0, close() {} })
  access.listen(() => {
    session.access = present()
  })
  const supply = new Supply(inProcess.commands.caller(session), mayIssue)
  return {
    take: (name, count) => supply.take(name, count),
    isText: (name) => supply.isText(name),
    close() {
      session.end()
      inProcess.close()
    },
  }
}

function accessOf(access: AccessControl, user: string | undefined) {
  return (user === undefined ? undefined : access.withoutPassword(user)) ?? access.initial
}

class Supply {
  readonly #caller: Caller
  readonly #mayIssue: () => boolean
  readonly #run = new Run()

  constructor(caller: Caller, mayIssue: () => boolean) {
    this.#caller = caller
    this.#mayIssue = mayIssue
  }

  take(name: string, count: number): Drawn | Promise<Drawn> {
    this.#mayIssue()
    const format = this.#caller.find(name)?.definition.format
    if (count === 1 && format === undefined && this.#caller.takeOne(name, this.#run))
      return { ids: [String(this.#run.first)], isText: false }
    return this.#draw(name, count)
  }

  /** Creates the generator if `auto-create` has a rule for it, as a take does. */
  async isText(name: string): Promise<boolean> {
    return (await this.#caller.open(name)).definition.format !== undefined
  }

  async #draw(name: string, count: number): Promise<Drawn> {
    const reply = await this.#caller.run('ID.NEXT', name, 'COUNT', String(count))
    if (!Array.isArray(reply) || reply.length !== count)
      throw new FahaoError('UNKNOWN', `${name} gave no ${count} ids; try again`)
    const { format } = await this.#caller.definition(name)
    return { ids: reply.map(String), isText: format !== undefined }
  }
}
