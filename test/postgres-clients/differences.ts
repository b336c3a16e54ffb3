/** Steps in which this server is meant to differ from PostgreSQL. The docs say why. */
import type { Outcome } from './scene.ts'

/** What a client is to see here, by client and step. */
const meant: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'psql, statements': {
    CACHE: `CREATE SEQUENCE
Sequence "public.cached"
Type | Start | Minimum | Maximum | Increment | Cycles? | Cache
--+--+--+--+--+--+--
bigint | 1 | 1 | 9223372036854775807 | 1 | no | 1`,
  },
}

/** The outcome with what this server is meant to say in place of what PostgreSQL says. */
export function asMeant(client: string, outcome: Outcome): Outcome {
  const here = meant[client]?.[outcome.step]
  return here === undefined ? outcome : { ...outcome, postgres: here }
}
