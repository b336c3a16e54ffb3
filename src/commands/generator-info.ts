/** The description of a generator for ID.INFO and HTTP: with what callers hold of it. */
import type { GeneratorInfo } from '../catalogue/catalogue.ts'
import { layoutOf } from '../catalogue/definition.ts'
import type { CommandContext } from './context.ts'

/** Describes a generator. As `Catalogue.info`. */
export async function describedGenerator(
  { catalogue, server }: Pick<CommandContext, 'catalogue' | 'server'>,
  name: string,
): Promise<GeneratorInfo> {
  const info = await catalogue.info(name)
  if (info.definition.kind === 'segment') return withEarlierRanges(server, info)
  if (info.definition.kind !== 'snowflake') return info
  // A generator is described without it while the engine is away: its ids go on. ID.LEASES shows what is wrong.
  const count = await server.workerLeases.count().catch(() => undefined)
  const { nodeBits } = layoutOf(info.definition)
  const leased = count?.leased(nodeBits) ?? 0
  if (count === undefined || leased === 0) return info
  const own = count.leased(nodeBits, name)
  const note = `callers hold ${leased} worker ids of its layout, ${own} of them leased for it, and can lease ${count.free(nodeBits)} more`
  return { ...info, notes: [...info.notes, note] }
}

/** An alteration, or a floor for every node, reaches callers at the deadline of their ranges. */
function withEarlierRanges(
  { rangeLeases, timeline }: CommandContext['server'],
  info: GeneratorInfo,
): GeneratorInfo {
  const untilUs = rangeLeases.earlierUntilUs(info.name, info.incarnation, timeline.nowUs())
  if (untilUs === undefined) return info
  const end = new Date(untilUs / 1000).toISOString()
  const note = `until ${end} callers may issue ids of earlier incarnations, which this node has leased them`
  return { ...info, notes: [...info.notes, note] }
}
