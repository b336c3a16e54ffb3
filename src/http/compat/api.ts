/** What a compatible API is: the routes that the clients of another generator know, as records. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../failures.ts'
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
