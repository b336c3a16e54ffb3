/**
 * Ranges as tinyid's clients know them. A client is told `(currentId, maxId]`, and issues by itself those ids in it
 * that leave `remainder` when they are divided by `delta`.
 */
import type { Run } from '../../ids/run.ts'

/** What a client needs to issue by itself. */
export type TinyidSegment = {
  readonly currentId: bigint
  /** At this id a client fetches its next segment: 20 % of the way. */
  readonly loadingId: bigint
  readonly maxId: bigint
  readonly delta: bigint
  readonly remainder: bigint
}

const loadingPercent = 20n

/** The segment whose ids are those of `run`. Its bounds are tight, so nothing but these lies in it. */
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

/** A segment as JSON: numbers with every digit, as a JSON of Java reads them. */
export function segmentJson({ currentId, loadingId, maxId, delta, remainder }: TinyidSegment): string {
  return `{"currentId":${currentId},"loadingId":${loadingId},"maxId":${maxId},"delta":${delta},"remainder":${remainder}}`
}

/** A segment as `nextSegmentIdSimple` writes it. */
export function segmentText({ currentId, loadingId, maxId, delta, remainder }: TinyidSegment): string {
  return [currentId, loadingId, maxId, delta, remainder].join(',')
}
