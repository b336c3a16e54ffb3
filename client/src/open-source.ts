/** The source that fits a definition. */
import type { Clock } from '../../src/base/clock.ts'
import { Run } from '../../src/ids/run.ts'
import type { Definition } from './definition.ts'
import type { IdSource } from './id-source.ts'
import type { Nodes } from './nodes.ts'
import type { Settings } from './options.ts'
import { RequestSource } from './request-source.ts'
import { nextRequest, rangeRequest, runsRequest } from './requests.ts'
import { SegmentSource } from './segment-source.ts'

/** What the generators of one client share. */
export type GeneratorDeps = {
  readonly nodes: Nodes
  readonly settings: Settings
  readonly clock: Clock
}

/** Makes a source. That of a kind that is issued here resolves with its first ids. Rejects as the service does. */
export async function openSource(
  name: string,
  definition: Definition,
  { nodes, settings, clock }: GeneratorDeps,
): Promise<IdSource> {
  if (!definition.prefetched) {
    const askRuns = (count: number) => nodes.send(runsRequest(name, count))
    const askTexts = async (count: number) => {
      const texts = await nodes.send(nextRequest(name, count))
      return texts.map((text) => runOf(definition.format?.parse(text) ?? BigInt(text)))
    }
    return new RequestSource(definition.ordered ? askRuns : askTexts)
  }
  const source = new SegmentSource({
    ...settings,
    name,
    clock,
    reserve: (count) => nodes.send(rangeRequest(name, count)),
  })
  await source.open()
  return source
}

function runOf(id: bigint): Run {
  const run = new Run()
  run.setOne(id)
  return run
}
