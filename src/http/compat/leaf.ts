/** Leaf's HTTP API: the routes `/api/…` issue ids as plain decimal text, by any method. */
import type { FastifyRequest } from 'fastify'
import { demandName } from '../../auth/access.ts'
import { type ErrorCode, FahaoError } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import type { Kind } from '../../issuing/issuer.ts'
import { recordDenied } from '../caller.ts'
import type { DirectRoute } from '../direct.ts'
import { type IssuingNode, metered } from '../issuing-node.ts'
import { anyMethod, type CompatApi, type CompatRoute, issueOne } from './api.ts'
import { decodeRoute } from './leaf-decode.ts'
import { cacheRoute, dbRoute } from './leaf-pages.ts'
import { LeafSnowflakes, refuseOtherKinds } from './leaf-snowflakes.ts'
import { contentTypes, SpringFailure } from './spring.ts'

/** Everything under Leaf's paths. */
export function leafApi(node: IssuingNode): CompatApi {
  const { catalogue } = node
  // A snowflake works with any key, as in Leaf.
  const snowflakes = new LeafSnowflakes(catalogue)
  return {
    routes: [
      idRoute(node, '/api/segment/get/{key}', catalogue, refuseClocks, ['NOGENERATOR', 'WRONGTYPE', 'ERR']),
      idRoute(node, '/api/snowflake/get/{key}', snowflakes, refuseOtherKinds, []),
      decodeRoute,
      cacheRoute(node),
      dbRoute(node),
    ],
  }
}

/** The kinds of `/api/segment/get`. */
const segmentKinds: readonly Kind[] = ['segment', 'sequence']

/** `/api/segment/get/{key}`, without Fastify. */
export const segmentDirectly: DirectRoute = {
  method: 'GET',
  route: '/api/segment/get/:key',
  path: /^\/api\/segment\/get\/([\w.:~%{}-]+)$/,
  contentType: contentTypes.text,
  negotiates: false,
  kinds: segmentKinds,
  one: (_, run) => run.toString(),
}

/** The generators of keys. */
type Keyed = {
  find(key: string): Generator | undefined
  /** Opens the generator of a key. `permit` throws unless the caller may name it. */
  open(key: string, permit: (name: string) => void): Promise<Generator>
}

/** The next id of the generator of a key. `unknownKey`: the errors that Leaf reports as an unknown key. */
function idRoute(
  node: IssuingNode,
  path: string,
  generators: Keyed,
  check: (generator: Generator) => void,
  unknownKey: readonly ErrorCode[],
): CompatRoute {
  return {
    methods: anyMethod,
    path,
    issues: true,
    access: { command: 'id.next', name: keyOf },
    failure: (error) => leafFailure(error, unknownKey),
    handler(request, reply) {
      const key = keyOf(request)
      const known = generators.find(key)
      // The name of the shared snowflake is not in the request.
      const permit = (name: string) => {
        if (!request.access.reaches(name)) recordDenied(node.server.audit, request, 'id.next', name)
        demandName(request.access, name)
      }
      return issueOne(reply, {
        known: known && metered(node, request, known),
        open: async () => metered(node, request, await generators.open(key, permit)),
        check(generator) {
          permit(generator.name)
          check(generator)
        },
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
  if (segmentKinds.includes(kind)) return
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
