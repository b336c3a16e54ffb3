/** What a compatible API is: the routes that the clients of another generator know, as records. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Generator } from '../../catalogue/catalogue.ts'
import { Run } from '../../ids/run.ts'
import type { Route } from '../failures.ts'
import { goneSignal } from '../gone-signal.ts'
import type { SpringFailure } from './spring.ts'

/** One route. */
export type CompatRoute = {
  readonly methods: readonly Route['method'][]
  /** As OpenAPI writes it. */
  readonly path: string
  /** Whether it hands out ids, so that no page of another origin may ask, by whatever method. */
  readonly issues: boolean
  /** Answers, or throws. Returns undefined when it has sent the answer itself. */
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | undefined
  /** How the replaced service told an error; undefined: as Spring tells any other. */
  readonly failure?: (error: unknown) => SpringFailure | undefined
}

/** The routes of one replaced service. */
export type CompatApi = {
  readonly routes: readonly CompatRoute[]
  /** Lets go of what it holds. */
  readonly close?: () => void
}

/** Every method that Spring lets through where none is named. HEAD goes with GET. */
export const anyMethod = Object.freeze(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)

/** The first value of a parameter; undefined where it was not given. Names that nobody asks for are ignored. */
export function parameterOf(request: FastifyRequest, name: string): string | undefined {
  const inQuery = (request.query as Readonly<Record<string, string | string[] | undefined>>)[name]
  if (inQuery !== undefined) return typeof inQuery === 'string' ? inQuery : inQuery[0]
  if (request.method !== 'POST' || typeof request.body !== 'string') return undefined
  return new URLSearchParams(request.body).get(name) ?? undefined
}

/** An id that is wanted. */
export type SingleIdRequest = {
  /** The generator, if it is in use already. */
  readonly known: Generator | undefined
  /** The generator, else. */
  readonly open: () => Promise<Generator>
  /** Throws unless the generator may serve this. */
  readonly check: (generator: Generator) => void
  /** The body for the first id of `run`. */
  readonly show: (generator: Generator, run: Run) => string
  readonly contentType: string
}

// One for all requests: it is read before anything else can run.
const run = new Run()

/** Issues, and sends; what it returns is an id that was waited for, yet to be sent. */
export function issueOne(reply: FastifyReply, wish: SingleIdRequest): Promise<string> | undefined {
  const { known, check, show, contentType } = wish
  if (known === undefined) return waitForOne(reply, wish)
  check(known)
  if (known.take(1, run) === 0) return waitForOne(reply, wish)
  reply.header('content-type', contentType).send(show(known, run))
  return undefined
}

async function waitForOne(reply: FastifyReply, wish: SingleIdRequest): Promise<string> {
  const generator = wish.known ?? (await wish.open())
  wish.check(generator)
  const [drawn] = await generator.draw(1, { signal: goneSignal(reply) })
  reply.header('content-type', wish.contentType)
  return wish.show(generator, drawn!)
}
