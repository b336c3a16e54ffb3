/** The source that fits a definition, and the leases under it. */
import type { Clock, Random } from '../../src/base/clock.ts'
import type { CopyDetector } from '../../src/base/copy-detector.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import type { Format } from '../../src/ids/format.ts'
import { Run } from '../../src/ids/run.ts'
import { isScattered } from '../../src/ids/scatter.ts'
import { type Definition, definitionOf } from './definition.ts'
import type { DrawnIds } from './drawn-ids.ts'
import type { IdSource } from './id-source.ts'
import type { Nodes, SendOptions } from './nodes.ts'
import type { Settings } from './options.ts'
import { type AskIds, RequestSource } from './request-source.ts'
import { leaseRequest, nextRequest, returnRequest, runsRequest } from './requests.ts'
import { type Answer, SegmentSource } from './segment-source.ts'
import type { ServiceTime } from './service-time.ts'
import { isOfSize } from './size-cap.ts'
import { SnowflakeSource } from './snowflake-source.ts'
import type { Span } from './worker-lease.ts'
import type { WorkerLeases } from './worker-leases.ts'

/** What the generators of one client share. */
export type GeneratorDeps = {
  readonly nodes: Nodes
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly copies: CopyDetector
  readonly time: ServiceTime
  readonly leases: WorkerLeases
  readonly drawn: DrawnIds
}

/** What the service has granted, and the time that a snowflake may use. */
export type Granted = Answer & { readonly span?: Span }

/** The first ids that are asked for. */
const firstCount = 1000
const ttlMinMs = 1000
const ttlMaxMs = 900_000
/** How long a return waits for the service. */
const returnTimeoutMs = 1000

/** Time to live of leases: ids of an earlier definition are issued for as long at most. */
export function ttlOf({ horizonMs }: Settings): number {
  return Math.ceil(Math.min(Math.max(2 * horizonMs, ttlMinMs), ttlMaxMs))
}

/** Asks the service what the generator is, and for its first ids. Rejects as the service does. */
export async function firstGrant(name: string, deps: GeneratorDeps): Promise<Granted> {
  const { leases, time } = deps
  // One worker id serves all snowflakes, so the lease that is there is tried first.
  if (leases.isHeldFor(name)) {
    try {
      return spanGranted(await leases.secure(name))
    } catch (error) {
      if (!hasCode(error, 'WRONGTYPE')) throw error
    }
  }
  const answer = await askFirst(name, deps)
  time.observe(answer.grant.nowUs)
  return withSpan(name, answer, deps)
}

/** What was granted, with the time that it contains; a snowflake whose namespace permits no leases has none. */
export function withSpan(name: string, granted: Granted, { leases }: GeneratorDeps): Granted {
  const { grant, sentUs, span } = granted
  if (grant.kind !== 'snowflake' || grant.lease === undefined || span !== undefined) return granted
  return spanGranted(leases.adopt(name, grant, sentUs))
}

function spanGranted(span: Span): Granted {
  return { grant: span.grant, sentUs: span.sentUs, span }
}

/** Asks for the first ids, for fewer as long as a quota refuses them. */
async function askFirst(name: string, deps: GeneratorDeps): Promise<Answer> {
  for (let count = firstCount; count > 1; count = Math.floor(count / 2)) {
    try {
      return await askLease(name, count, deps, { quotaEnds: true })
    } catch (error) {
      if (!isOfSize(error)) throw error
    }
  }
  return askLease(name, 1, deps)
}

async function askLease(
  name: string,
  count: number,
  deps: GeneratorDeps,
  options?: SendOptions,
): Promise<Answer> {
  const { nodes, settings, clock, drawn: drawnIds } = deps
  const sentUs = clock.monoUs()
  const terms = { count, ttlMs: ttlOf(settings), holder: settings.holder }
  const grant = await drawnIds.report(name, (drawn) =>
    nodes.send(leaseRequest(name, { ...terms, drawn }), options),
  )
  drawnIds.permit(grant.drawnMax)
  return { grant, sentUs }
}

/** What a source calls when the generator is not what it was. */
export type Changes = {
  /** Called with an answer that describes the generator otherwise. */
  readonly onChange: (granted: Granted) => void
  /** Called when the service refuses, because the generator has another kind: ask what it is. */
  readonly onAltered: () => void
}

/** Makes the source of what was granted. */
export function makeSource(
  name: string,
  granted: Granted,
  deps: GeneratorDeps,
  { onChange, onAltered }: Changes,
): IdSource {
  const definition = definitionOf(granted.grant)
  const { nodes, settings, clock, random, copies, time, leases } = deps
  const { span } = granted
  const onDrawn = (ids: number) => deps.drawn.count(name, ids)
  const shared = { ...settings, name, definition, clock, copies, onAltered, onDrawn }
  if (definition.kind === 'segment' && granted.grant.lease !== undefined) {
    return new SegmentSource(
      {
        ...shared,
        lease: (count) => askLease(name, count, deps, { quotaEnds: true }),
        returnLease: (id, from) =>
          deps.drawn.report(name, (drawn) =>
            nodes.send(returnRequest(name, id, from, undefined, drawn), { timeoutMs: returnTimeoutMs }),
          ),
        onChange,
      },
      granted,
    )
  }
  if (span === undefined) {
    const { timeoutMs } = settings
    return new RequestSource({ ask: askIds(name, definition, deps), clock, timeoutMs })
  }
  return new SnowflakeSource(
    {
      ...shared,
      leases,
      time,
      random,
      onChange: (later) => onChange(spanGranted(later)),
      // As where a namespace permits no lease: the definition is read again later, and leases with it.
      onRefused: () => onChange({ grant: { ...granted.grant, lease: undefined }, sentUs: clock.monoUs() }),
    },
    span,
  )
}

function askIds(name: string, definition: Definition, { nodes }: GeneratorDeps): AskIds {
  const { isShuffled, scramble, layout } = definition
  if (!isShuffled && !scramble && !isScattered(layout))
    return (count, timeoutMs) => nodes.send(runsRequest(name, count), { timeoutMs })
  // Nodes of earlier versions, which know no scattered ids, do not give raw ids.
  const isRaw = isScattered(layout)
  return async (count, timeoutMs) =>
    runsOf(
      await nodes.send(nextRequest(name, count, {}, isRaw), { timeoutMs }),
      isRaw ? undefined : definition.format,
    )
}

/** The ids of texts, one in each run. WRONGTYPE where they have another format: the generator was altered. */
export function runsOf(texts: readonly string[], format?: Format): Run[] {
  try {
    return texts.map((text) => {
      const run = new Run()
      run.setOne(format?.parse(text) ?? BigInt(text))
      return run
    })
  } catch (cause) {
    throw new FahaoError('WRONGTYPE', 'the ids have another format than the generator had; ask again', {
      cause,
    })
  }
}
