/**
 * Segments for tinyid's clients. A client receives `(currentId, maxId]`, and issues by itself the ids of it that leave
 * `remainder` when they are divided by `delta`.
 */
import { FahaoError } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import { Run } from '../../ids/run.ts'

/** A segment of one client. */
export type TinyidSegment = {
  readonly currentId: bigint
  /** At this id a client fetches its next segment: 20 % of the way. */
  readonly loadingId: bigint
  readonly maxId: bigint
  readonly delta: bigint
  readonly remainder: bigint
}

const loadingPercent = 20n
/** The ids of a segment of a generator with `step: adaptive`. */
const adaptiveSegment = 1000

/** The segment of exactly the ids of `run`. */
export function segmentOf(run: Run): TinyidSegment {
  const first = run.first
  const delta = BigInt(run.stride)
  const currentId = first - 1n
  const maxId = run.at(run.count - 1)
  return {
    currentId,
    loadingId: currentId + ((maxId - currentId) * loadingPercent) / 100n,
    maxId,
    delta,
    remainder: first % delta,
  }
}

/**
 * The next segment of `generator`: a step's worth of ids, or 1,000 where it is adaptive, or fewer if those of another node begin before that; waits
 * if no id is buffered. WRONGTYPE if ids are in no order, made of the clock, or skipped because of words.
 */
export async function drawSegment(generator: Generator, signal: AbortSignal): Promise<TinyidSegment> {
  const { step, within, scramble, incrementRange, avoid } = generator.definition
  const areInOrder = within === 'ordered' && !scramble
  if (step === undefined || !areInOrder || incrementRange !== undefined || avoid !== undefined)
    throw noSegments(generator)
  const ids = step || adaptiveSegment
  const run = new Run()
  if (generator.take(ids, run) > 0) return segmentOf(run)
  const drawn = longest(await generator.draw(ids, { signal }))
  // The generator was altered, and its ids have no order now: these become a gap.
  if (drawn.stride === 0) throw noSegments(generator)
  return segmentOf(drawn)
}

/** A segment is one run. Further runs, which a burst can draw, become gaps. */
function longest(runs: readonly Run[]): Run {
  return runs.reduce((best, run) => (run.count > best.count ? run : best))
}

function noSegments({ name }: Generator): FahaoError {
  return new FahaoError('WRONGTYPE', `the ids of '${name}' come in no segments; use nextId with a batchSize`)
}

/** A segment as JSON: numbers with every digit, as a JSON of Java reads them. */
export function segmentJson({ currentId, loadingId, maxId, delta, remainder }: TinyidSegment): string {
  return `{"currentId":${currentId},"loadingId":${loadingId},"maxId":${maxId},"delta":${delta},"remainder":${remainder}}`
}

/** A segment as `nextSegmentIdSimple` writes it. */
export function segmentText({ currentId, loadingId, maxId, delta, remainder }: TinyidSegment): string {
  return [currentId, loadingId, maxId, delta, remainder].join(',')
}
