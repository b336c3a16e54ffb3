/** A cluster at a glance: what is as it should be in one line, and the rest line by line. */
import { bold, table } from './terminal.ts'

/** As the server sends it. */
export type SentCluster = {
  readonly cluster: string
  readonly self: string
  readonly leaseLeftMs: number
  readonly nodes: readonly {
    readonly id: string
    readonly resp: string | null
    readonly http: string | null
    readonly version: string
    readonly draining: boolean
    readonly silentMs: number
    readonly leads: number
  }[]
  readonly shards: readonly SentShard[]
}

type SentShard = {
  readonly shard: number
  readonly firstSlot: number
  readonly lastSlot: number
  readonly leader: string | null
  readonly nobodyForMs: number | null
  readonly wanted: string | null
  readonly isWish: boolean
}

const shownIdCharacters = 8

/** Lines for people. */
export function clusterLines(status: SentCluster): string[] {
  const { cluster, nodes, shards } = status
  const led = shards.filter(({ nobodyForMs }) => nobodyForMs === null).length
  const moving = shards.filter((shard) => shard.nobodyForMs === null && shard.leader !== shard.wanted)
  const summary = `${cluster}: ${counted(nodes.length, 'node')}, ${led} of ${counted(shards.length, 'shard')} led`
  return [
    bold(led === shards.length ? summary : `${summary}: ${shards.length - led} without a leader`),
    '',
    ...nodeTable(status),
    ...shards.filter(({ nobodyForMs }) => nobodyForMs !== null).map((shard) => orphanLine(shard, status)),
    ...moving.map((shard) => movingLine(shard, status)),
  ]
}

function nodeTable({ self, nodes, shards, leaseLeftMs }: SentCluster): string[] {
  const rows = nodes.map(({ id, resp, http, version, draining, silentMs, leads }) => {
    const notes = [
      id === self ? 'asked' : '',
      draining ? 'draining' : '',
      id === self && leaseLeftMs <= 0 ? 'its lease has lapsed' : '',
    ]
    return [
      id.slice(0, shownIdCharacters),
      resp ?? '-',
      http ?? '-',
      `${leads}/${shards.length}`,
      `${seconds(silentMs)} ago`,
      version,
      notes.filter((note) => note !== '').join(', '),
    ]
  })
  return table(['NODE', 'RESP', 'HTTP', 'LEADS', 'HEARD OF', 'VERSION', ''], rows)
}

function orphanLine(
  { shard, firstSlot, lastSlot, nobodyForMs, wanted }: SentShard,
  status: SentCluster,
): string {
  const next = wanted === null ? 'there is no node to take it' : `${placeOf(wanted, status)} should take it`
  return `shard ${shard} (slots ${firstSlot}-${lastSlot}): nobody leads it for ${seconds(nobodyForMs ?? 0)}; ${next}`
}

function movingLine({ shard, leader, wanted, isWish }: SentShard, status: SentCluster): string {
  const why = isWish ? ', as was asked for' : ''
  return `shard ${shard}: goes from ${placeOf(leader, status)} to ${placeOf(wanted, status)}${why}`
}

function placeOf(id: string | null, { nodes }: SentCluster): string {
  return nodes.find((node) => node.id === id)?.resp ?? id?.slice(0, shownIdCharacters) ?? 'nobody'
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`
}
