/** `GET /`: the first page of the console for a browser; for any other client, the first steps as lines to copy. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { speaksTls } from '../../listening/listener-tls.ts'
import type { FahaoNode } from '../../node/node.ts'
import type { ApiRoute } from '../api-route.ts'
import type { PageSender } from './files.ts'
import { curlLogin, originOf, redisCli } from './snippets.ts'

/** The generator in the lines; it may not exist. */
const sample = 'order'
const states = {
  ok: 'This node is well.',
  degraded: 'This node issues from its buffers: its engine is unavailable.',
  down: 'This node cannot issue: its engine is unavailable.',
  stopping: 'This node is stopping.',
}
const shownLines = `redis-cli --user NAME --askpass -p 7379 INCR order
curl -u NAME -X POST http://127.0.0.1:7380/v1/generators/order/next
`

/** The route. It lists no generators and renders nothing that takes long: asking for it needs no login. */
export function landingRoute(node: FahaoNode, sendPage: PageSender): ApiRoute {
  return {
    id: 'landing',
    method: 'GET',
    path: '/',
    tag: 'server',
    command: 'open',
    summary: 'The first steps: a page where text/html is accepted, and lines to copy elsewhere.',
    answers: {
      200: {
        description: 'The page, or the lines.',
        content: {
          'text/html': z.string().meta({ examples: ['<!doctype html>\n'] }),
          'text/plain': z.string().meta({ examples: [shownLines] }),
        },
      },
    },
    errors: [],
    example: {},
    async handler(request, reply) {
      const isForBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '')
      if (isForBrowser && sendPage.isBuilt) return sendPage('index.html', request, reply)
      reply.headers({ 'content-type': 'text/plain; charset=utf-8', vary: 'accept, origin' })
      return firstSteps(node, request)
    },
  }
}

function firstSteps(node: FahaoNode, request: FastifyRequest): string {
  const { server, config, access, engine } = node
  const origin = originOf(request)
  const { state, reason } = node.health()
  const { initial } = access
  // A page that needs no login names no user.
  const user = initial.allows('id.next') && initial.reaches(sample) ? undefined : 'NAME'
  const { respPort } = server
  const lines = [
    `fahao ${server.version}, ${engine.name}: hands out unique 64-bit ids. ${states[state]} ${reason ?? ''}`.trimEnd(),
    '',
    ...(user === undefined
      ? []
      : ['A login is needed: replace NAME by the name of your user. Each command asks for the password.']),
    ...(respPort === undefined
      ? []
      : [`${redisCli(origin, respPort, speaksTls(config, 'resp'), user)} INCR ${sample}`]),
    `curl${curlLogin(user)} -X POST ${origin}/v1/generators/${sample}/next`,
    '',
    `Where there is no generator ${sample}: curl${curlLogin(user)} -X PUT ${origin}/v1/generators/${sample} -H 'content-type: application/json' -d '{"kind":"sequence"}'`,
    `In a browser: ${origin}/console, the API ${origin}/docs. For programs: ${origin}/openapi.json`,
  ]
  return `${lines.join('\n')}\n`
}
