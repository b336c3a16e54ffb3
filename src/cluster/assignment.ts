/**
 * The assignment of shards to nodes: a pure function of the nodes that take part, so that every node that sees the same
 * nodes comes to the same answer on its own.
 *
 * Rendezvous hashing with a limit: of all pairs (shard, node), those with the highest score are served first, and a
 * node that has its share is passed over. So
 *  1. shares differ by one shard at most,
 *  2. the order in which nodes are named does not matter,
 *  3. most shards stay where they are when a node comes or goes. (Rendezvous hashing alone would move the fewest
 *     possible; but with 16 shards one of three nodes may then well lead nine of them.)
 */

/** A node as the assignment sees it. */
export type Candidate = {
  /** Node id. */
  readonly id: string
  /** Scores are made of the address, so that a node which comes back with a fresh id gets its shards back. */
  readonly address: string
}

/** Node id of each shard's leader to be; empty strings when there are no nodes. */
export function assign(shards: number, candidates: readonly Candidate[]): string[] {
  const sorted = candidates.toSorted((a, b) => compare(a.address, b.address) || compare(a.id, b.id))
  const pairs = sorted.flatMap(({ address }, rank) => {
    const seed = hash(address)
    return Array.from({ length: shards }, (_, shard) => ({ score: score(seed, shard), rank, shard }))
  })
  pairs.sort((a, b) => b.score - a.score || a.rank - b.rank || a.shard - b.shard)
  const leaders = new Array<string>(shards).fill('')
  const shares = new Array<number>(sorted.length).fill(0)
  const share = Math.floor(shards / sorted.length)
  let larger = shards % sorted.length
  for (const { rank, shard } of pairs) {
    const has = shares[rank]!
    if (leaders[shard] !== '' || has > share || (has === share && larger === 0)) continue
    if (has === share) larger--
    shares[rank] = has + 1
    leaders[shard] = sorted[rank]!.id
  }
  return leaders
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}

/** MurmurHash3's finalizer: every bit of both depends on every bit of the score. */
function score(seed: number, shard: number): number {
  let value = seed ^ Math.imul(shard + 1, 0x9e3779b1)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
