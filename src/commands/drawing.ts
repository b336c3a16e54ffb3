/** How commands open a generator and draw ids from it. An id that the client may round is refused before it is drawn. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import type { Run } from '../ids/run.ts'
import type { CommandContext } from './context.ts'

/**
 * The largest id that every client reads exactly. node-redis and ioredis read an integer digit by digit as
 * `number * 10 + byte - 48`, which passes through a value 48 larger, so that odd integers are wrong from 2^53−47 on
 * already. The limit is therefore 2^53−65.
 */
export const readExactlyMax = 2n ** 53n - 65n

/**
 * Draws `count` ids as integers for this client. UNSAFE, and no id is used up, if the client may round one of them:
 * distinct ids would become equal in the caller.
 */
export async function drawIntegers(
  { session }: CommandContext,
  generator: Generator,
  count: number,
): Promise<Run> {
  const safe = !session.exact
  const newest = generator.lastIssued() ?? 0n
  if (safe && newest + BigInt(count) > readExactlyMax) throw rounded(generator)
  try {
    const options = { contiguous: count > 1, safe, signal: session.signal }
    const [run] = await generator.draw(count, options)
    return run!
  } catch (error) {
    throw hasCode(error, 'UNSAFE') ? rounded(generator) : error
  }
}

function rounded({ name }: Generator): FahaoError {
  return new FahaoError(
    'UNSAFE',
    `'${name}' issues ids past 2^53-1, and this client has not shown that it reads such integers exactly; use ID.NEXT ${name}, which replies a string, or send CLIENT SETINFO LIB-NAME with the name of your library, or see rounding-guard in the server documentation`,
  )
}
