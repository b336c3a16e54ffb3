/** A compatible API: the routes of another id service as records, its parameters, and issuing one id per request. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Generator } from '../../catalogue/catalogue.ts'
import { Run } from '../../ids/run.ts'
import type { RouteAccess } from '../caller.ts'
import { disconnectSignal } from '../connection.ts'
import { throwDirectFailure } from '../direct.ts'
import type { Route } from '../failures.ts'
import type { SpringFailure } from './spring.ts'

/** One route. */
export type CompatRoute = {
  readonly methods: readonly Route['method'][]
  /** As OpenAPI writes it. */
  readonly path: string
  /** Whether it issues ids, so that pages of other origins are refused for every method. */
  readonly issues: boolean
  /** What it demands of its caller; `open` where a token of its own is checked by the handler. */
  readonly access: RouteAccess
  /** Answers, or throws. Returns undefined if it has sent the answer itself. */
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | undefined
  /** The form of an error in the replaced service; undefined: Spring's for any other. */
  readonly failure?: (error: unknown) => SpringFailure | undefined
  /** `failure` describes refusals of the caller too, which have Spring's form otherwise. */
  readonly describesRefusals?: boolean
}

/** The routes of one replaced service. */
export type CompatApi = {
  readonly routes: readonly CompatRoute[]
  /** Releases its resources. */
  readonly close?: () => void
}

/** Every method that Spring accepts for a route without one. GET includes HEAD. */
export const anyMethod = Object.freeze(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)

/** The first value of a parameter, as a servlet reads it: from the query, then from a posted form. */
export function parameterOf(request: FastifyRequest, name: string): string | undefined {
  const inQuery = (request.query as Readonly<Record<string, string | string[] | undefined>>)[name]
  if (inQuery !== undefined) return typeof inQuery === 'string' ? inQuery : inQuery[0]
  if (request.method !== 'POST' || typeof request.body !== 'string') return undefined
  return new URLSearchParams(request.body).get(name) ?? undefined
}

/** A request for one id. */
export type SingleIdRequest = {
  /** The generator, if it is in use. */
  readonly known: Generator | undefined
  /** Opens the generator. */
  readonly open: () => Promise<Generator>
  /** Throws unless the generator has the right kind. */
  readonly check: (generator: Generator) => void
  /** The body for the first id of `run`. */
  readonly show: (generator: Generator, run: Run) => string
  readonly contentType: string
}

// Shared by all requests: it is read before other code can run.
const run = new Run()

/** Issues an id: a buffered one is sent at once, without a promise; otherwise the promise is the body. */
export function issueOne(reply: FastifyReply, wanted: SingleIdRequest): Promise<string> | undefined {
  throwDirectFailure(reply.request.raw)
  const { known, check, show, contentType } = wanted
  if (known === undefined) return waitForOne(reply, wanted)
  check(known)
  if (known.take(1, run) === 0) return waitForOne(reply, wanted)
  reply.header('content-type', contentType).send(show(known, run))
  return undefined
}

async function waitForOne(reply: FastifyReply, wanted: SingleIdRequest): Promise<string> {
  const generator = wanted.known ?? (await wanted.open())
  wanted.check(generator)
  const [drawn] = await generator.draw(1, { signal: disconnectSignal(reply) })
  reply.header('content-type', wanted.contentType)
  return wanted.show(generator, drawn!)
}
