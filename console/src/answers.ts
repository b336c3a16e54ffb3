/** The answers of the HTTP API, as docs/reference/http-api.md and /openapi.json describe them. */

/** The kinds of generators. */
export const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
/** A kind of generators. */
export type Kind = (typeof kinds)[number]
/** What a generator was created with. */
export type Definition = Readonly<Record<string, string | number | boolean>> & { readonly kind: Kind }
/** A generator in the list. */
export type Listed = { readonly name: string; readonly kind: Kind; readonly definition: Definition }
/** A page of generators. */
export type GeneratorPage = { readonly generators: readonly Listed[]; readonly next: string | null }
/** The figures of a generator on the node that was asked. */
export type Stats = {
  readonly [name in
    | 'issued'
    | 'leased'
    | 'drawn'
    | 'returned'
    | 'gap'
    | 'callersPerSecond'
    | 'ratePerSecond'
    | 'peakPerSecond'
    | 'inHand'
    | 'reserved'
    | 'released'
    | 'dropped'
    | 'lost'
    | 'refills'
    | 'refillFailures'
    | 'refillSeconds'
    | 'waits'
    | 'drySeconds'
    | 'waiting']: number
} & { readonly inHandSeconds: number | null }
/** A generator. */
export type Generator = Listed & {
  readonly incarnation: string
  readonly mode: 'local' | 'group commit' | 'leader' | 'node'
  readonly leader: string | null
  readonly bound: string | null
  readonly lastIssued: string | null
  /** Of generators with periods: the label of the present one, when it ends, and how many of its numbers are left. */
  readonly presentPeriod?: string
  readonly periodEnds?: string
  readonly leftInPeriod?: string
  readonly exhaustedAt: string | null
  readonly notes: string[]
  /** How far behind the newest row readers by id have to stay. */
  readonly readers: string
  readonly stats: Stats | null
}
/** An id taken apart. */
export type Decoded = {
  readonly id: string
  readonly kind?: string
  readonly layout?: string
  readonly date?: string
  readonly unixMs?: string
  readonly time?: string
  readonly node?: string
  readonly sequence?: string
  readonly label?: string
  readonly starts?: string
  readonly ends?: string
  readonly number?: string
}
/** Whether the node should get requests. */
export type Health = {
  readonly state: 'ok' | 'degraded' | 'down' | 'stopping'
  readonly reason: string | null
  readonly inHandSeconds: number | null
}
/** A worker id that is held or rests. Times in Unix µs. */
export type Worker = {
  readonly worker: number
  readonly by: 'node' | 'caller'
  readonly holder: string
  readonly generator: string | null
  readonly user: string | null
  readonly fromUs: number | null
  readonly untilUs: number
  readonly state: 'held' | 'resting'
}
/** A worker id of a pool. */
export type PlainWorker = {
  readonly worker: number
  readonly state: 'held' | 'resting' | 'kept' | 'free'
  readonly owner: string
  readonly user: string
  readonly untilUs: number
  readonly stable: boolean
}
/** A namespace, and what this node has counted. */
export type Namespace = {
  readonly name: string
  readonly match: string
  readonly owner?: string
  readonly user?: string
  readonly idsPerSecond?: string | number
  readonly idsPerDay?: string | number
  readonly generators?: string | number
  readonly leases?: string | number
  readonly waiting?: string | number
  readonly here: {
    readonly issued: number
    readonly refused: number
    readonly waiting: number
    readonly shareOfDay: number | null
  }
}
/** A user, without passwords. */
export type User = {
  readonly name: string
  readonly enabled: boolean
  readonly nopass: boolean
  readonly passwords: number
  readonly patterns: readonly string[]
  readonly commands: readonly string[]
}
/** A token, without its secret. */
export type Token = {
  readonly id: string
  readonly user: string
  readonly label: string
  readonly rules: readonly string[]
  readonly created: string
  readonly createdBy: string
  readonly expires: string | null
  readonly valid: boolean
}
/** A node of the cluster. */
export type ClusterNode = {
  readonly id: string
  readonly resp: string | null
  readonly http: string | null
  readonly version: string
  readonly joined: string
  readonly draining: boolean
  readonly silentMs: number
  readonly leads: number
}
/** A shard. */
export type Shard = {
  readonly shard: number
  readonly firstSlot: number
  readonly lastSlot: number
  readonly leader: string | null
  readonly epoch: number
  readonly nobodyForMs: number | null
  readonly restsForMs: number | null
  readonly wanted: string | null
  readonly isWish: boolean
}
/** The cluster as the node that was asked sees it. */
export type Cluster = {
  readonly cluster: string
  readonly self: string
  readonly leaseLeftMs: number
  readonly engine: { readonly state: 'up' | 'down'; readonly reason: string | null }
  readonly versions: readonly string[]
  readonly nodes: readonly ClusterNode[]
  readonly shards: readonly Shard[]
}
/** An entry of the audit trail. */
export type AuditEntry = {
  readonly time: string
  readonly event: string
  readonly object: string
  readonly user: string
  readonly address: string
  readonly door: string
  readonly node: string
  readonly count: number
  readonly detail: string | null
}
/** A page of the audit trail, newest first. */
export type AuditPage = { readonly entries: readonly AuditEntry[]; readonly next: string | null }
