/** The operations on plain worker ids: claim, renew, return, list. */
import { z } from 'zod'
import { listedMax } from '../../commands/id-lease.ts'
import { listedWork } from '../../commands/id-worker.ts'
import { poolLimits } from '../../leasing/pools.ts'
import type { FahaoNode } from '../../node/node.ts'
import { jsonAnswer, leaseIdOf, type Operation, poolOf, readQuery, refuseBody } from '../operation.ts'
import { duration, nextWorker, wholeNumber, workersPage, workersPageQuery } from './shapes.ts'

const path = '/v1/pools/{pool}/workers'
const leasePath = `${path}/{lease}`
const errors = ['ERR', 'CONFLICT', 'UNAVAILABLE', 'UNKNOWN', 'SHUTDOWN'] as const

const ttl = duration('how long the lease lasts: 1s to 366d').optional()
const seen = wholeNumber(0, 999_999_999_999_999, 'the newest time of the holder, in Unix ms of its clock')
const claimQuery = z.strictObject({
  owner: z.string().min(1).max(256).meta({
    description: 'the name of the holder, without control and format characters: it gets its id again',
  }),
  size: wholeNumber(1, poolLimits.sizeMax, 'ids are below it (default 1024)').optional(),
  ttl: ttl.meta({ description: 'how long the lease lasts: 1s to 366d (default 60s)' }),
  rest: duration('for how long the id goes to no other owner after the lease (default: ttl)').optional(),
  seen: seen.optional(),
  stable: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .meta({ description: 'keeps the id for this owner after the lease' }),
})
const renewQuery = z.strictObject({ ttl, seen: seen.optional() })
const listQuery = z.strictObject(workersPageQuery)
const returnQuery = z.strictObject({ seen: seen.optional() })

const workerNumber = z.number().meta({ description: 'the worker id' })
const lastSeenMs = z.number().meta({ description: 'the newest time that a holder has reported; −1: none' })
const leaseShape = z
  .object({
    worker: workerNumber,
    lease: z.string(),
    ttlMs: z.number().meta({ description: 'from when the request was sent' }),
    restMs: z.number(),
    lastSeenMs,
    nowUs: z.number().meta({ description: 'Unix µs of the server' }),
  })
  .meta({ id: 'PlainWorkerLease' })
const returnedShape = z
  .object({ returned: z.boolean().meta({ description: 'false: there is no such lease' }) })
  .meta({ id: 'PlainWorkerReturned' })
const listShape = z
  .object({
    workers: z.array(
      z.object({
        worker: workerNumber,
        state: z.enum(['held', 'resting', 'kept', 'free']),
        owner: z.string(),
        user: z.string(),
        sinceUs: z.number(),
        untilUs: z.number(),
        stable: z.boolean(),
        lastSeenMs,
      }),
    ),
    next: nextWorker,
  })
  .meta({ id: 'PlainWorkers' })

type Served = Pick<FahaoNode, 'server'>

/** Everything at `/v1/pools/{pool}/workers`. */
export function poolOperations(node: Served): Operation[] {
  return [claim(node), renew(node), giveBack(node), list(node)]
}

function claim({ server }: Served): Operation {
  return {
    id: 'claimWorker',
    command: 'id.worker|claim',
    method: 'POST',
    path,
    tag: 'workers',
    summary: 'Claims the lowest free plain worker id of a pool.',
    notes:
      'The same owner, on any node, gets the same id under a new lease. EXHAUSTED says when one is free.',
    query: claimQuery,
    answers: { 200: jsonAnswer('The lease.', leaseShape) },
    errors: [...errors, 'EXHAUSTED', 'BUSY', 'LIMIT'],
    example: { name: 'payments', query: 'owner=host-1&ttl=60s' },
    async handler(request) {
      refuseBody(request)
      const { owner, size, ttl, rest, seen, stable } = readQuery(claimQuery, request)
      const options = { owner, size, ttlMs: ttl, restMs: rest, seenMs: seen, stable: stable === 'true' }
      return server.pools.claim(poolOf(request), request.access.user, options)
    },
  }
}

function renew({ server }: Served): Operation {
  return {
    id: 'renewWorker',
    command: 'id.worker|renew',
    method: 'PATCH',
    path: leasePath,
    tag: 'workers',
    summary: 'Extends the lease of a plain worker id; never shortens it.',
    query: renewQuery,
    answers: { 200: jsonAnswer('The lease.', leaseShape) },
    errors: [...errors, 'NOLEASE', 'LIMIT'],
    example: { name: 'payments', query: 'ttl=60s' },
    async handler(request) {
      refuseBody(request)
      const { ttl, seen } = readQuery(renewQuery, request)
      return server.pools.renew(poolOf(request), leaseIdOf(request), { ttlMs: ttl, seenMs: seen })
    },
  }
}

function giveBack({ server }: Served): Operation {
  return {
    id: 'returnWorker',
    command: 'id.worker|return',
    method: 'DELETE',
    path: leasePath,
    tag: 'workers',
    summary: 'Ends the lease of a plain worker id. The id rests before another owner gets it.',
    query: returnQuery,
    answers: { 200: jsonAnswer('Whether there was such a lease.', returnedShape) },
    errors,
    example: { name: 'payments' },
    async handler(request) {
      refuseBody(request)
      const { seen } = readQuery(returnQuery, request)
      return { returned: await server.pools.giveBack(poolOf(request), leaseIdOf(request), seen) }
    },
  }
}

function list({ server }: Served): Operation {
  return {
    id: 'listWorkers',
    command: 'id.worker|list',
    method: 'GET',
    path,
    tag: 'workers',
    summary: 'Lists the plain worker ids of a pool that were ever claimed.',
    query: listQuery,
    answers: { 200: jsonAnswer('The ids in ascending order.', listShape) },
    errors: ['ERR', 'UNAVAILABLE', 'SHUTDOWN'],
    example: { name: 'payments' },
    async handler(request) {
      const { after, limit = listedMax } = readQuery(listQuery, request)
      const workers = await server.pools.list(poolOf(request), { after, limit: limit + 1 })
      await server.turns.take(workers.length * listedWork)
      return workersPage(workers, limit)
    },
  }
}
