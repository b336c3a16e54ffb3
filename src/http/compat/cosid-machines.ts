/**
 * Machine ids for CosId's clients: the plain worker ids of the pool that has the name of the namespace. The owner is the
 * instance, and CosId's clients know no leases.
 */
import type { FastifyRequest } from 'fastify'
import { FahaoError } from '../../base/errors.ts'
import { type Pools, poolLimits } from '../../leasing/pools.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { type CompatRoute, parameterOf } from './api.ts'
import { machineFailure, required, unknownInstance } from './cosid-failure.ts'
import { contentTypes } from './spring.ts'

const path = '/machines/{namespace}'
const bitsMax = 31

/** The routes at `/machines/{namespace}`. */
export function machineRoutes(node: IssuingNode): CompatRoute[] {
  const { pools } = node.server
  const nowMs = () => Math.floor(node.timeline.nowUs() / 1000)
  return [
    {
      ...basics('id.worker|claim'),
      methods: ['POST'],
      async handler(request, reply) {
        const options = {
          owner: required(request, 'instanceId'),
          size: Math.min(2 ** bitsOf(request), poolLimits.sizeMax),
          ttlMs: ttlOf(request),
          // CosId has no rest: its clients compare their clock with lastTimeStamp.
          restMs: 0,
          stable: parameterOf(request, 'stable') === 'true',
          seenMs: nowMs(),
        }
        const claimed = await pools.claim(namespaceOf(request), request.access.user, options)
        reply.header('content-type', contentTypes.json)
        return `{"machineId":${claimed.worker},"lastTimeStamp":${claimed.lastSeenMs}}`
      },
    },
    {
      ...basics('id.worker|renew'),
      methods: ['PATCH'],
      async handler(request, reply) {
        const namespace = namespaceOf(request)
        const instance = required(request, 'instanceId')
        const ttlMs = ttlOf(request)
        const lease = await pools.leaseOf(namespace, instance)
        if (lease === undefined) throw await withoutLease(pools, namespace, instance)
        await pools.renew(namespace, lease, { ttlMs, seenMs: nowMs() })
        return reply.send()
      },
    },
    {
      ...basics('id.worker|return'),
      methods: ['DELETE'],
      async handler(request, reply) {
        const namespace = namespaceOf(request)
        const lease = await pools.leaseOf(namespace, required(request, 'instanceId'))
        if (lease !== undefined) await pools.giveBack(namespace, lease, nowMs())
        return reply.send()
      },
    },
  ]
}

function basics(command: string): Omit<CompatRoute, 'methods' | 'handler'> {
  return {
    path,
    issues: false,
    access: { command, name: namespaceOf },
    failure: machineFailure,
    describesRefusals: true,
  }
}

function namespaceOf({ params }: FastifyRequest): string {
  return (params as { readonly namespace: string }).namespace
}

function bitsOf(request: FastifyRequest): number {
  const text = required(request, 'machineBit')
  const bits = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (bits >= 1 && bits <= bitsMax) return bits
  throw new FahaoError('ERR', `machineBit must be a whole number from 1 to ${bitsMax}`)
}

/** The safe guard duration, within the limits of leases; CosId's `FOREVER` is the longest. */
function ttlOf(request: FastifyRequest): number {
  const ms = isoDurationMs(required(request, 'safeGuardDuration'))
  if (ms === undefined) {
    throw new FahaoError('ERR', 'safeGuardDuration must be a duration of ISO 8601 such as PT5M')
  }
  return Math.min(Math.max(ms, poolLimits.ttlMinMs), poolLimits.ttlMaxMs)
}

/** `PT5M` in ms, as `java.time.Duration.toString` writes durations; undefined for any other text and for none at all. */
export function isoDurationMs(text: string): number | undefined {
  const parts =
    /^P(?:(\d{1,19})D)?(?:T(?=\d)(?:(\d{1,19})H)?(?:(\d{1,19})M)?(?:(\d{1,19}(?:\.\d{1,9})?)S)?)?$/i.exec(
      text,
    )
  if (parts === null || text.length < 3) return undefined
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return Math.ceil((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
}

/**
 * CosId's proxy tells an instance that it does not know (M-02) from one that has lost its id (M-03): its distributor looks
 * into the states that it has stored before it asks the store behind it.
 */
async function withoutLease(pools: Pools, namespace: string, instance: string): Promise<Error> {
  const who = `instance '${instance.slice(0, 128)}' has`
  const what = `machine id in namespace '${namespace}'; distribute one anew`
  if (await pools.hasHeld(namespace, instance)) return new FahaoError('NOLEASE', `${who} lost its ${what}`)
  return unknownInstance(new FahaoError('NOLEASE', `${who} no ${what}`))
}
