/** The names in requests of many, and every generator that the user may name, for commands that read all of them. */
import type { ListedGenerator } from '../catalogue/catalogue.ts'
import { listedParts } from '../catalogue/generator-lists.ts'
import type { Arguments } from './arguments.ts'
import type { CommandContext } from './context.ts'
import { checkOneSlot } from './cross-slot.ts'

/** The time to look one name up, as the bytes of a reply that take as long. */
const nameWork = 512

/** The names of a request that may name many, each in a turn that has room for it. CROSSSLOT in a cluster; ERR. */
export async function* namesInTurns(context: CommandContext, args: Arguments): AsyncGenerator<string> {
  const names = args.texts()
  checkOneSlot(context, names)
  const { turns, meters } = context.server
  // Which namespaces count a name is found out when it is first used.
  const work = nameWork + meters.quotas.work
  for (const name of names) {
    await turns.take(work)
    yield name
  }
}

/** What `everyGenerator` yields: the names behind `after` that match the glob `pattern`. */
type WalkOptions = { readonly after?: string | undefined; readonly pattern?: string | undefined }

/** Whether a request that changes a generator changes no other one. A family, whose name ends with a star, has names of others. */
export function changesOne(_context: CommandContext, args: Arguments): boolean {
  return !args.text(0).endsWith('*')
}

/** The generators that the user may name, in byte order, part by part. ABORTED if the client's connection has ended. */
export function everyGenerator(
  { catalogue, session, server }: CommandContext,
  options: WalkOptions = {},
): AsyncGenerator<readonly ListedGenerator[]> {
  const { access, signal } = session
  return listedParts(catalogue, server.turns, { access, signal, ...options })
}
