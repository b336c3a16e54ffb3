/** Nodes of a cluster on etcd, as processes, and what each says of the cluster. */
import { startEtcd } from './etcd.ts'
import { type FahaoServer, startFahao } from './fahao.ts'
import type { Lifetime } from './lifetime.ts'

/** A shard as a node shows it. */
export type Shard = {
  readonly shard: number
  readonly firstSlot: number
  readonly lastSlot: number
  readonly leader: string | null
  readonly epoch: number
  readonly nobodyForMs: number | null
  readonly wanted: string | null
}

/** A cluster as a node shows it. */
export type View = {
  readonly self: string
  readonly leaseLeftMs: number
  readonly versions: readonly string[]
  readonly nodes: readonly { readonly id: string; readonly resp: string; readonly leads: number }[]
  readonly shards: readonly Shard[]
}

/** The login, where the nodes have users. */
type Headers = Readonly<Record<string, string>>

/** Starts it; `args` are the further flags of each node, `env` the variables of all. Resolves when every shard has its assigned leader. */
export async function startCluster(
  lifetime: Lifetime,
  args: readonly (readonly string[])[],
  env: Readonly<Record<string, string>> = {},
): Promise<FahaoServer[]> {
  const etcd = await startEtcd(lifetime)
  const nodes = await Promise.all(
    args.map((own) =>
      startFahao(lifetime, {
        engine: etcd.url('ids'),
        args: ['--cluster', 'test', ...own],
        env,
        readyWithinMs: 60_000,
      }),
    ),
  )
  await settled(nodes)
  return nodes
}

/** How a node sees the cluster. */
export async function viewOf({ http }: FahaoServer, headers: Headers = {}): Promise<View> {
  const answer = await fetch(`${http}/v1/cluster`, { headers, signal: AbortSignal.timeout(5000) })
  return (await answer.json()) as View
}

/** Resolves when these nodes see each other and no other node, and every shard has its assigned leader. */
export async function settled(nodes: readonly FahaoServer[], headers: Headers = {}): Promise<void> {
  const isSettled = (view: View) => {
    const led = view.shards.every(({ leader, wanted }) => leader !== null && leader === wanted)
    return led && view.nodes.length === nodes.length
  }
  await until(nodes, isSettled, headers)
}

/** Resolves when all of these nodes see that. */
export async function until(
  nodes: readonly FahaoServer[],
  isSo: (view: View) => boolean,
  headers: Headers = {},
): Promise<void> {
  for (;;) {
    const views = await Promise.all(nodes.map((node) => viewOf(node, headers)))
    if (views.every(isSo)) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
