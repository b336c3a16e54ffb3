/** The HTTP API of CosId's proxy: machine ids, segments (the ids `(max − step, max]` of the generator `NAMESPACE.NAME`), and single ids. */
import type { FastifyRequest } from 'fastify'
import { demandPermission } from '../../auth/access.ts'
import { FahaoError, hasCode } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import { isCounter, optionsAtFirstUse } from '../../catalogue/definition.ts'
import { CreationRules } from '../../catalogue/series.ts'
import { max63 } from '../../ids/limits.ts'
import { clientAddress } from '../caller.ts'
import { disconnectSignal } from '../connection.ts'
import { findFor, type IssuingNode, metered, openFor } from '../issuing-node.ts'
import { type CompatApi, type CompatRoute, issueOne } from './api.ts'
import { cosidFailure, required } from './cosid-failure.ts'
import { machineRoutes } from './cosid-machines.ts'
import { contentTypes } from './spring.ts'

/** Everything under the paths of CosId's proxy. */
export function cosidApi(node: IssuingNode): CompatApi {
  return {
    routes: [
      ...machineRoutes(node),
      ...segmentRoutes(node),
      idRoute(node, '/ids/{name}', false),
      idRoute(node, '/ids/as-string/{name}', true),
    ],
  }
}

/** @param asText whether the id has its generator's format, instead of being a number. */
function idRoute(node: IssuingNode, path: string, asText: boolean): CompatRoute {
  return {
    methods: ['GET'],
    path,
    issues: true,
    ...basics(nameIn),
    handler(request, reply) {
      const name = nameIn(request)
      return issueOne(reply, {
        known: findFor(node, request, name),
        open: () => openFor(node, request, name),
        check: () => {},
        show: (generator, run) => (asText ? generator.text(run.first) : run.toString()),
        contentType: asText ? contentTypes.text : contentTypes.json,
      })
    },
  }
}

function nameIn({ params }: FastifyRequest): string {
  return (params as { readonly name: string }).name
}

function basics(name: (request: FastifyRequest) => string) {
  return { access: { command: 'id.next', name }, failure: cosidFailure, describesRefusals: true }
}

/** The routes at `/segments`. */
function segmentRoutes(node: IssuingNode): CompatRoute[] {
  return [
    {
      ...basics(generatorOf),
      methods: ['POST'],
      path: '/segments/distributor/{namespace}/{name}',
      issues: false,
      async handler(request, reply) {
        const offset = wholeNumber(request, 'offset', 0n, max63 - 1n)
        wholeNumber(request, 'step', 1n, max63)
        await openOrCreate(node, request, offset)
        return reply.send()
      },
    },
    {
      ...basics(generatorOf),
      methods: ['PATCH'],
      path: '/segments/{namespace}/{name}',
      issues: true,
      async handler(request, reply) {
        const { incrByMax } = node.server
        const step = Number(wholeNumber(request, 'step', 1n, incrByMax))
        const generator = await openOrCreate(node, request, 0n)
        refuseOthers(generator)
        const options = { contiguous: true, signal: disconnectSignal(reply) }
        const [run] = await metered(node, request, generator).draw(step, options)
        reply.header('content-type', contentTypes.json)
        return String(run!.at(run!.count - 1))
      },
    },
  ]
}

/** CosId's getNamespacedName. */
function generatorOf({ params }: FastifyRequest): string {
  const { namespace, name } = params as { readonly namespace: string; readonly name: string }
  return `${namespace}.${name}`
}

function wholeNumber(request: FastifyRequest, name: string, minimum: bigint, maximum: bigint): bigint {
  const text = required(request, name)
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n
  if (value >= minimum && value <= maximum) return value
  throw new FahaoError('ERR', `${name} must be a whole number from ${minimum} to ${maximum}`)
}

/**
 * The generator. One that does not exist begins after `offset`; an auto-create rule that matches permits it and says its
 * kind, and otherwise the caller needs the permission to create one.
 */
async function openOrCreate(node: IssuingNode, request: FastifyRequest, offset: bigint): Promise<Generator> {
  const name = generatorOf(request)
  const known = node.catalogue.find(name)
  if (known !== undefined) return known
  if (await node.catalogue.exists(name)) return node.catalogue.open(name)
  const rule = new CreationRules(node.config.autoCreate).optionsFor(name)
  if (rule === undefined) demandPermission(request.access, 'id.create', name)
  const given = rule ?? optionsAtFirstUse('segment')
  try {
    const options = { ...given, ...(isCounter(given.kind) && { start: offset + 1n }) }
    const created = await node.catalogue.create(name, options)
    const { user, administers } = request.access
    const by = { user, address: clientAddress(request), isOrdinary: !administers }
    node.server.audit.record({ event: 'create', ...by, door: 'http', object: name })
    return created
  } catch (error) {
    // Another request was faster, with another offset: the first one counts.
    if (hasCode(error, 'EXISTS')) return node.catalogue.open(name)
    throw error
  }
}

function refuseOthers({ name, contiguous }: Generator): void {
  if (contiguous) return
  throw new FahaoError('WRONGTYPE', `the ids of '${name}' come in no segments; get them from /ids/${name}`)
}
