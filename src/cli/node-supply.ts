/** Ids for the MySQL proxy from the node in this process, with the permissions of the user of `mysql-proxy-user`. */
import type { AccessControl } from '../auth/access-control.ts'
import { type Address, addressText } from '../base/address.ts'
import { Run } from '../ids/run.ts'
import type { Certificates } from '../listening/certificates.ts'
import type { FahaoNode } from '../node/node.ts'
import { InProcessCaller } from '../operations/caller.ts'
import { CallerSession } from '../operations/caller-session.ts'
import { blockOperation, nextOperation } from '../operations/drawing.ts'
import type { IdMaker } from '../proxy/id-supply.ts'
import type { DrawnIds } from '../proxy/sql/fill-ids.ts'
import { openOperatingNode } from './operating-node.ts'

/** A maker of ids, and what closes the connections to other nodes. */
export type NodeSupply = IdMaker & { close(): void }

/** What carries operations out, and what ends them. */
type Session = { readonly session: CallerSession; readonly caller: InProcessCaller }

/** Opens the supply of a proxy that listens at `address`. @param id of its session. */
export function nodeSupply(
  node: FahaoNode,
  address: Address,
  tls: Certificates | undefined,
  id: number,
): NodeSupply {
  const { access, config, mayIssue } = node
  const operating = openOperatingNode(node, tls)
  const present = () => accessOf(access, config.mysqlProxyUser)
  const place = addressText(address)
  const facts = { id, address: place, localAddress: place, door: 'mysql' }
  const open = (): Session => {
    const session = new CallerSession({ ...facts, access: present() }, { unreadBytes: () => 0, close() {} })
    return { session, caller: new InProcessCaller(session, operating) }
  }
  const shared = open()
  access.listen(() => {
    shared.session.access = present()
  })
  const maker = new Maker(shared.caller, open, mayIssue)
  return Object.assign(maker, {
    close() {
      shared.session.end()
      operating.close()
    },
  })
}

function accessOf(access: AccessControl, user: string | undefined) {
  return (user === undefined ? undefined : access.withoutPassword(user)) ?? access.initial
}

class Maker implements IdMaker {
  readonly #caller: InProcessCaller
  readonly #open: () => Session
  readonly #mayIssue: () => boolean
  readonly #run = new Run()

  /** @param open makes a caller for one draw that waits. */
  constructor(caller: InProcessCaller, open: () => Session, mayIssue: () => boolean) {
    this.#caller = caller
    this.#open = open
    this.#mayIssue = mayIssue
  }

  tryDraw(name: string, count: number): DrawnIds | undefined {
    this.#mayIssue()
    const format = this.#caller.catalogue.find(name)?.definition.format
    if (count !== 1 || format !== undefined || !this.#caller.takeOne(name, this.#run)) return undefined
    return { ids: [String(this.#run.first)], isText: false }
  }

  draw(name: string, count: number, signal: AbortSignal, isBlock: boolean): Promise<DrawnIds> {
    return this.#until(signal, async (caller) => {
      const { contiguous, definition } = await caller.open(name)
      if (isBlock && count > 1 && contiguous && definition.format === undefined) {
        const first = await caller.run(blockOperation, { name, count: BigInt(count) })
        // If it has got a format meanwhile, its ids are texts.
        if ((await caller.definition(name)).format === undefined)
          return { ids: Array.from({ length: count }, (_, at) => String(first + BigInt(at))), isText: false }
      }
      const ids = await caller.run(nextOperation, { name, count: BigInt(count) })
      // Read after the ids are there: in front of an alteration they would be taken for numbers.
      const { format } = await caller.definition(name)
      return { ids: Array.from({ length: ids.count }, (_, at) => ids.at(at)), isText: format !== undefined }
    })
  }

  /** Creates the generator if `auto-create` has a rule for it, as a draw does. */
  open(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#until(signal, (caller) => caller.open(name))
  }

  async #until<Result>(
    signal: AbortSignal,
    work: (caller: InProcessCaller) => Promise<Result>,
  ): Promise<Result> {
    const { session, caller } = this.#open()
    const end = () => session.end()
    signal.addEventListener('abort', end, { once: true })
    try {
      return await work(caller)
    } finally {
      signal.removeEventListener('abort', end)
    }
  }
}
