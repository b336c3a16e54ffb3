/** Issues one id for one request: at once where one is in hand, which costs no promise. */
import type { FastifyReply } from 'fastify'
import type { Generator } from '../../catalogue/catalogue.ts'
import { Run } from '../../ids/run.ts'
import { goneSignal } from '../gone-signal.ts'

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
