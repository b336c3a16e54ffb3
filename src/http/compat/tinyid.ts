/**
 * tinyid's HTTP API: the routes `/tinyid/id/…`, which issue ids and segments. Errors have status 200: they are in `code`, or an empty body if the answer is plain text. Only a
 * `batchSize` that is not a number is refused by status, as Spring does in front of tinyid.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { describe, FahaoError, hasCode } from '../../base/errors.ts'
import { Run } from '../../ids/run.ts'
import { type Body, batchBody, type Frame } from '../batch.ts'
import { disconnectSignal } from '../connection.ts'
import { findFor, type IssuingNode, openFor } from '../issuing-node.ts'
import { afterRest } from '../refused-callers.ts'
import { countFailure } from '../traffic.ts'
import { type CompatApi, type CompatRoute, parameterOf } from './api.ts'
import { contentTypes, forCaller, intOf, noNumber } from './spring.ts'
import { Credentials } from './tinyid-credentials.ts'
import { drawSegment, segmentJson, segmentText, type TinyidSegment } from './tinyid-segment.ts'

/** The form of answers: JSON with a code, or plain text. */
type AnswerFormat = {
  readonly contentType: string
  readonly id: (id: string) => string
  readonly ids: Frame
  readonly noIds: string
  readonly segment: (segment: TinyidSegment) => string
  readonly failure: (code: number, message: string) => string
}

const json: AnswerFormat = {
  contentType: contentTypes.json,
  id: (id) => `{"data":[${id}],"code":200,"message":""}`,
  ids: { head: '{"data":[', separator: ',', tail: '],"code":200,"message":""}' },
  noIds: '{"data":[],"code":200,"message":""}',
  segment: (segment) => `{"data":${segmentJson(segment)},"code":200,"message":""}`,
  failure: (code, message) => JSON.stringify({ data: null, code, message }),
}

const plain: AnswerFormat = {
  contentType: contentTypes.text,
  id: (id) => id,
  ids: { head: '', separator: ',', tail: '' },
  noIds: '',
  segment: segmentText,
  failure: () => '',
}

/** The most ids of one request; one that asks for more gets these. */
const batchMax = 100_000
// Shared by all requests: it is read before other code can run.
const run = new Run()

/** Everything under tinyid's paths. */
export function tinyidApi(node: IssuingNode): CompatApi {
  const tokens = new Credentials(node)
  const routes = [
    idsRoute('nextId', json, node, tokens),
    idsRoute('nextIdSimple', plain, node, tokens),
    segmentRoute('nextSegmentId', json, node, tokens),
    segmentRoute('nextSegmentIdSimple', plain, node, tokens),
  ]
  return { routes, close: () => tokens.close() }
}

function idsRoute(name: string, form: AnswerFormat, node: IssuingNode, tokens: Credentials): CompatRoute {
  const countMax = Math.min(batchMax, node.server.countMax)

  async function drawIds(
    request: FastifyRequest,
    bizType: string,
    count: number,
    reply: FastifyReply,
  ): Promise<Body> {
    const generator = await openFor(node, request, bizType)
    if (count < 1) return form.noIds
    return batchBody(await generator.draw(count, { signal: disconnectSignal(reply) }), form.ids)
  }

  return {
    ...basics(name),
    handler(request, reply) {
      const count = Math.min(batchSizeOf(request), countMax)
      const { token, bizType } = callerOf(request)
      reply.header('content-type', form.contentType)
      try {
        const generator = tokens.permits(request, token, bizType)
          ? findFor(node, request, bizType)
          : undefined
        if (generator === undefined || count !== 1 || generator.take(1, run) === 0) {
          return answer(form, tokens, request, token, bizType, () => drawIds(request, bizType, count, reply))
        }
      } catch (error) {
        return failed(form, request, bizType, error)
      }
      reply.send(form.id(run.toString()))
      return undefined
    },
  }
}

function segmentRoute(name: string, form: AnswerFormat, node: IssuingNode, tokens: Credentials): CompatRoute {
  return {
    ...basics(name),
    handler(request, reply) {
      const { token, bizType } = callerOf(request)
      reply.header('content-type', form.contentType)
      return answer(form, tokens, request, token, bizType, async () => {
        const generator = await openFor(node, request, bizType)
        return form.segment(await drawSegment(generator, disconnectSignal(reply)))
      })
    },
  }
}

function basics(name: string): Pick<CompatRoute, 'methods' | 'path' | 'issues' | 'access'> {
  return { methods: ['GET', 'POST'], path: `/tinyid/id/${name}`, issues: true, access: 'open' }
}

/** The answer of `issue`, if the token permits the generator. */
async function answer(
  form: AnswerFormat,
  tokens: Credentials,
  request: FastifyRequest,
  token: string,
  bizType: string,
  issue: () => Promise<Body>,
): Promise<Body> {
  try {
    if (tokens.permits(request, token, bizType) === undefined) await tokens.load()
    if (tokens.permits(request, token, bizType)) return await issue()
    tokens.refused(request, token, bizType)
    return form.failure(5, 'token is error')
  } catch (error) {
    return failed(form, request, bizType, error)
  }
}

/** What the client is told of an error. Rejects with those that are not for clients. */
async function failed(
  form: AnswerFormat,
  request: FastifyRequest,
  bizType: string,
  error: unknown,
): Promise<Body> {
  // The leader answers a request that is refused as MOVED.
  if (!(error instanceof FahaoError) || error.code === 'MOVED') throw error
  countFailure(request, error)
  await new Promise<void>((resolve) => afterRest(error, resolve))
  const message = hasCode(error, 'NOGENERATOR')
    ? `can not find biztype:${bizType}`
    : describe(forCaller(error, request))
  return form.failure(6, message)
}

function callerOf(request: FastifyRequest): { token: string; bizType: string } {
  return { token: parameterOf(request, 'token') ?? '', bizType: parameterOf(request, 'bizType') ?? '' }
}

/** 1 by default; 0 and less asks for none. */
function batchSizeOf(request: FastifyRequest): number {
  const text = (parameterOf(request, 'batchSize') ?? '').replaceAll(/\s/g, '')
  if (text === '') return 1
  const size = intOf(text)
  if (size === undefined) throw noNumber('java.lang.Integer', text)
  return size
}
