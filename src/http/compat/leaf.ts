/** Leaf's HTTP API: ids as plain decimal text, by any method. */
import type { FastifyRequest } from 'fastify'
import { type ErrorCode, FahaoError } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import type { FahaoNode } from '../../node/node.ts'
import { anyMethod, type CompatApi, type CompatRoute, issueOne } from './api.ts'
import { decodeRoute } from './leaf-decode.ts'
import { cacheRoute, dbRoute } from './leaf-pages.ts'
import { LeafSnowflakes, refuseOtherKinds } from './leaf-snowflakes.ts'
import { contentTypes, SpringFailure } from './spring.ts'

/** Everything under Leaf's paths. */
export function leafApi(node: FahaoNode): CompatApi {
  return { routes: [segmentRoute(node), snowflakeRoute(node), decodeRoute, cacheRoute(node), dbRoute(node)] }
}

/** `/api/segment/get/{key}`: the next id of the counter `key`. */
function segmentRoute({ catalogue }: FahaoNode): CompatRoute {
  return {
    methods: anyMethod,
    path: '/api/segment/get/{key}',
    issues: true,
    failure: (error) => leafFailure(error, ['NOGENERATOR', 'WRONGTYPE', 'ERR']),
    handler(request, reply) {
      const key = keyOf(request)
      return issueOne(reply, {
        known: catalogue.find(key),
        open: () => catalogue.open(key),
        check: refuseClocks,
        show: (_, run) => run.toString(),
        contentType: contentTypes.text,
      })
    },
  }
}

/** `/api/snowflake/get/{key}`: the next id of a snowflake, for any key, as Leaf does. */
function snowflakeRoute({ catalogue }: FahaoNode): CompatRoute {
  const snowflakes = new LeafSnowflakes(catalogue)
  return {
    methods: anyMethod,
    path: '/api/snowflake/get/{key}',
    issues: true,
    failure: (error) => leafFailure(error, []),
    handler(request, reply) {
      const key = keyOf(request)
      return issueOne(reply, {
        known: snowflakes.find(key),
        open: () => snowflakes.open(key),
        check: refuseOtherKinds,
        show: (_, run) => run.toString(),
        contentType: contentTypes.text,
      })
    },
  }
}

function keyOf({ params }: FastifyRequest): string {
  return (params as { readonly key: string }).key
}

function refuseClocks({ name, kind }: Generator): void {
  if (kind === 'segment' || kind === 'sequence') return
  throw new FahaoError('WRONGTYPE', `'${name}' is a ${kind}; get its ids from /api/snowflake/get`)
}

/**
 * Leaf's numbers of errors: −1 not (or no longer) ready, −2 unknown key, −3 no ids. The header `fahao-error` has the
 * reason, and what to do.
 */
function leafFailure(error: unknown, unknownKey: readonly ErrorCode[]): SpringFailure | undefined {
  if (!(error instanceof FahaoError)) return undefined
  const id = notReady.includes(error.code) ? -1 : unknownKey.includes(error.code) ? -2 : -3
  return new SpringFailure(500, exception, `Result{id=${id}, status=EXCEPTION}`, error)
}

const exception = 'com.sankuai.inf.leaf.server.exception.LeafServerException'
const notReady: readonly ErrorCode[] = ['SHUTDOWN', 'WORKERID', 'NOTOWNER', 'REGRESSED', 'ENGINE', 'CONFIG']
