/** The description of a generator for ID.INFO and HTTP: with what callers hold of it. */
import type { Access } from '../auth/access.ts'
import type { GeneratorInfo } from '../catalogue/catalogue.ts'
import { layoutOf } from '../catalogue/definition.ts'
import { includes, titleOf } from '../quotas/namespace.ts'
import type { OperationContext, Services } from './context.ts'

type Described = Pick<OperationContext, 'catalogue'> & {
  readonly server: Pick<Services, 'meters' | 'rangeLeases' | 'timeline' | 'workerIds'>
}

/** Describes a generator to a reader with these permissions. As `Catalogue.info`. */
export async function describedGenerator(
  { catalogue, server }: Described,
  name: string,
  access: Access,
): Promise<GeneratorInfo> {
  const found = await catalogue.info(name)
  const info = { ...found, notes: [...found.notes, ...namespaceNotes(server, name, access)] }
  if (info.definition.kind === 'segment') return withEarlierRanges(server, info)
  if (info.definition.kind !== 'snowflake') return info
  // A generator is described without it while the engine is away: its ids go on. ID.LEASES shows what is wrong.
  const count = await server.workerIds.recent().catch(() => undefined)
  const { nodeBits } = layoutOf(info.definition)
  const leased = count?.leased(nodeBits) ?? 0
  if (count === undefined || leased === 0) return info
  const own = count.leased(nodeBits, name)
  const note = `callers hold ${leased} worker ids of its layout, ${own} of them leased for it, and can lease ${count.free(nodeBits)} more`
  return { ...info, notes: [...info.notes, note] }
}

/** An alteration, or a floor for every node, reaches callers at the deadline of their ranges. */
function withEarlierRanges(
  { rangeLeases, timeline }: Described['server'],
  info: GeneratorInfo,
): GeneratorInfo {
  const untilUs = rangeLeases.earlierUntilUs(info.name, info.incarnation, timeline.nowUs())
  if (untilUs === undefined) return info
  const end = new Date(untilUs / 1000).toISOString()
  const note = `until ${end} callers may issue ids of earlier incarnations, which this node has leased them`
  return { ...info, notes: [...info.notes, note] }
}

/** Which namespaces count its ids: by name those whose pattern is within what the reader may name. */
function namespaceNotes({ meters }: Described['server'], name: string, access: Access): string[] {
  const counting = meters.namespaces.all.filter((namespace) => includes(namespace, name))
  const notes = counting.map((namespace) => {
    if (!access.reaches(namespace.match)) return 'a namespace counts ids of it, on each node by itself'
    const whose = namespace.user === undefined ? 'its ids' : `the ids that ${namespace.user} draws`
    return `${titleOf(namespace)} counts ${whose}, on each node by itself`
  })
  return [...new Set(notes)]
}
