/**
 * What is tried in each runtime. Programs, pages and workers get these functions as text, so each is complete in itself:
 * types are all that it uses of this file.
 */
import type { connect } from '../../client/src/index.ts'

/** What `exercise` has seen; ids as text, which JSON keeps exactly. */
export type Observed = {
  /** The ids of each generator, in the order of issue. */
  readonly ids: Readonly<Record<string, readonly string[]>>
  /** The type of what `tryNext` returned last for each generator. */
  readonly synchronous: Readonly<Record<string, string>>
  /** An id of `user` right after those above, and one of `event` after those. */
  readonly texts: { readonly user: string | undefined; readonly event: string }
  /** How many requests the calls of one turn needed. */
  readonly requestsOfOneTurn: number
  /** A plain worker id, and whether it was valid before and after its release. */
  readonly worker: { readonly id: number; readonly validity: readonly boolean[] }
  /** Codes of errors. */
  readonly refused: Readonly<Record<string, string>>
}

/** Takes ids of each kind in each way, of generators whose names begin with `prefix`, and closes the client. */
export async function exercise(connectTo: typeof connect, url: string, prefix: string): Promise<Observed> {
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      (value) => `none, but ${value}`,
      (error) => String(error.code ?? error),
    )
  const client = await connectTo(url)
  const ids: Record<string, string[]> = {}
  const synchronous: Record<string, string> = {}
  for (const name of ['order', 'time', 'user', 'event', 'coupon', 'big']) {
    const generator = await client.generator(`${prefix}:${name}`)
    const taken = [await generator.next(), ...(await generator.nextBatch(50))]
    taken.push(...(await Promise.all(Array.from({ length: 20 }, () => generator.next()))))
    const last = generator.tryNext()
    if (last !== undefined) taken.push(last)
    ids[name] = taken.map(String)
    synchronous[name] = typeof last
  }
  const [order, user, event, big] = await Promise.all(
    ['order', 'user', 'event', 'big'].map((name) => client.generator(`${prefix}:${name}`)),
  )
  const texts = { user: user!.tryNextText(), event: await event!.nextText() }
  const before = order!.stats().requests
  await Promise.all(Array.from({ length: 100 }, () => order!.next()))
  const requestsOfOneTurn = order!.stats().requests - before
  const worker = await client.leaseWorker(prefix)
  const validity = [worker.validForMs() > 0]
  await worker.release()
  validity.push(worker.validForMs() > 0)
  const refused = {
    unsafe: await codeOf(big!.nextNumber()),
    unknown: await codeOf(client.generator(`${prefix}:nothing`)),
    aborted: await order!.next({ signal: AbortSignal.abort() }).then(String, ({ name }: Error) => name),
    closed: await client.close().then(() => codeOf(user!.next())),
  }
  return {
    ids,
    synchronous,
    texts,
    requestsOfOneTurn,
    worker: { id: worker.id, validity },
    refused,
  }
}

/** Takes this many ids of each generator, alternately one at a time and in batches. Leaves the client open. */
export async function takeMany(
  connectTo: typeof connect,
  url: string,
  names: readonly string[],
  count: number,
): Promise<Record<string, string[]>> {
  const client = await connectTo(url)
  const ids: Record<string, string[]> = {}
  for (const name of names) {
    const generator = await client.generator(name)
    const taken: bigint[] = []
    while (taken.length < count) {
      taken.push(await generator.next(), ...(await generator.nextBatch(30)))
      for (
        let id = generator.tryNext();
        id !== undefined && taken.length % 50 !== 0;
        id = generator.tryNext()
      )
        taken.push(id)
    }
    ids[name] = taken.map(String)
  }
  return ids
}
