/** Takes a segment out of a generator. */
import { FahaoError } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import { Run } from '../../ids/run.ts'
import { segmentOf, type TinyidSegment } from './tinyid-segment.ts'

/**
 * The next segment of `generator`: a step's worth of ids, or fewer where another node's begin before that; waits
 * when none is in hand. WRONGTYPE where ids are in no order, or made of the clock.
 */
export async function drawSegment(generator: Generator, signal: AbortSignal): Promise<TinyidSegment> {
  const { step, within, scramble } = generator.definition
  if (step === undefined || within !== 'ordered' || scramble) throw noSegments(generator)
  const run = new Run()
  if (generator.take(step, run) > 0) return segmentOf(run)
  const drawn = longest(await generator.draw(step, { signal }))
  // Altered meanwhile, and in no order now: the ids become a gap.
  if (drawn.stride === 0) throw noSegments(generator)
  return segmentOf(drawn)
}

/** A segment is one run. Others, which a burst can bring together, become gaps. */
function longest(runs: readonly Run[]): Run {
  return runs.reduce((best, run) => (run.count > best.count ? run : best))
}

function noSegments({ name }: Generator): FahaoError {
  return new FahaoError('WRONGTYPE', `the ids of '${name}' come in no segments; use nextId with a batchSize`)
}
