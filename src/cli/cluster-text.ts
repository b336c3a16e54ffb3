/** The status of a cluster as text: a summary, the nodes, and a line for each problem. */
import type { ClusterAnswer } from '../operations/cluster.ts'
import { bold, table } from './terminal.ts'

type ShardAnswer = ClusterAnswer['shards'][number]

const shownIdCharacters = 8
/** The longest list of shards in a table cell. */
const shownShardsCharacters = 48

/** The status, line by line. */
export function clusterLines(status: ClusterAnswer): string[] {
  const { cluster, nodes, shards } = status
  const led = shards.filter(isLed).length
  const summary = `${cluster}: ${counted(nodes.length, 'node')}, ${led} of ${counted(shards.length, 'shard')} led`
  return [
    ...staleLines(status),
    bold(led === shards.length ? summary : `${summary}: ${shards.length - led} without a leader`),
    '',
    ...nodeTable(status),
    ...versionLines(status),
    ...leaderlessLines(status),
    ...restLines(status),
    ...movingLines(status),
    ...pinLines(status),
  ]
}

/** Ascending numbers with runs joined: `1,5-6,12-14`. */
export function rangesText(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = []
  for (const each of numbers) {
    const run = runs.at(-1)
    if (run?.[1] === each - 1) run[1] = each
    else runs.push([each, each])
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

function isLed({ nobodyForMs }: ShardAnswer): boolean {
  return nobodyForMs === null
}

/** Why the rest may be out of date; empty if it is current. */
function staleLines({ engine, leaseLeftMs, nodes, self }: ClusterAnswer): string[] {
  const reasons: string[] = []
  if (engine.state === 'down')
    reasons.push(`the engine does not answer this node (${engine.reason ?? 'it is down'})`)
  if (leaseLeftMs <= 0)
    reasons.push(
      nodes.some(({ id }) => id === self) ? "this node's lease has lapsed" : 'this node has not joined yet',
    )
  return reasons.length === 0 ? [] : [bold(`${reasons.join(', and ')}; the rest is out of date`)]
}

function nodeTable({ self, nodes, shards, leaseLeftMs }: ClusterAnswer): string[] {
  const width = Math.max(0, ...nodes.map(({ leads }) => String(leads).length))
  const rows = nodes.map(({ id, resp, http, version, draining, silentMs, leads }) => {
    const notes = [
      id === self ? 'asked' : '',
      draining ? 'draining' : '',
      id === self && leaseLeftMs <= 0 ? 'its lease has lapsed' : '',
    ]
    const led = shards.filter((shard) => isLed(shard) && shard.leader === id)
    const share = `${String(leads).padStart(width)}/${shards.length}`
    return [
      id.slice(0, shownIdCharacters),
      resp ?? '-',
      http ?? '-',
      led.length === 0 ? share : `${share}: ${cutOff(rangesText(numbersOf(led)))}`,
      `${seconds(silentMs)} ago`,
      version,
      notes.filter((note) => note !== '').join(', '),
    ]
  })
  return table(['NODE', 'RESP', 'HTTP', 'LEADS', 'RENEWED', 'VERSION', ''], rows)
}

/** How many nodes run each version, where they differ. */
function versionLines({ nodes }: ClusterAnswer): string[] {
  const versions = [...Map.groupBy(nodes, ({ version }) => version)]
  if (versions.length < 2) return []
  const shares = versions.map(([version, { length }]) => `${version} on ${counted(length, 'node')}`)
  return [
    `the nodes run different versions (${shares.join(', ')}): the cluster is being upgraded, or was left half-way`,
  ]
}

/** Shards without a leader, one line for each node that should lead them. */
function leaderlessLines(status: ClusterAnswer): string[] {
  const leaderlesss = status.shards.filter((shard) => !isLed(shard))
  return [...Map.groupBy(leaderlesss, ({ wanted }) => wanted)].map(([wanted, some]) => {
    const next = wanted === null ? 'there is no node that can lead' : `${nameOf(wanted, status)} should take`
    const longest = seconds(Math.max(...some.map(({ nobodyForMs }) => nobodyForMs ?? 0)))
    if (some.length > 1)
      return `shards ${rangesText(numbersOf(some))}: no leader for up to ${longest}; ${next} them`
    const { shard, firstSlot, lastSlot } = some[0]!
    return `shard ${shard} (slots ${firstSlot}-${lastSlot}): no leader for ${longest}; ${next} it`
  })
}

/** Why shards without a leader are not taken yet. */
function restLines({ shards }: ClusterAnswer): string[] {
  const resting = shards.filter(({ restsForMs }) => restsForMs !== null)
  if (resting.length === 0) return []
  const longest = seconds(Math.max(...resting.map(({ restsForMs }) => restsForMs ?? 0)))
  const what = resting.length === 1 ? 'shard' : 'shards'
  return [
    `${what} ${rangesText(numbersOf(resting))}: no node takes over for another ${longest}, because a leader that the store does not know may still issue (the store was advanced, or a counter has seen a newer leader)`,
  ]
}

/** Shards that another node should lead: pinned ones one by one, the others in one line. */
function movingLines(status: ClusterAnswer): string[] {
  const moving = status.shards.filter((shard) => isLed(shard) && shard.leader !== shard.wanted)
  const unasked = moving.filter(({ isWish }) => !isWish)
  const line = ({ shard, leader, wanted, isWish }: ShardAnswer) =>
    `shard ${shard}: moves from ${nameOf(leader, status)} to ${nameOf(wanted, status)}${isWish ? ', as pinned' : ''}`
  const pinned = moving.filter(({ isWish }) => isWish).map(line)
  if (unasked.length < 2) return [...unasked.map(line), ...pinned]
  const targets = [...Map.groupBy(unasked, ({ wanted }) => wanted)].map(
    ([wanted, some]) => `${rangesText(numbersOf(some))} to ${nameOf(wanted, status)}`,
  )
  return [
    `${unasked.length} shards move to their assigned nodes in about one lease: ${targets.join('; ')}`,
    ...pinned,
  ]
}

function pinLines(status: ClusterAnswer): string[] {
  return status.shards
    .filter(({ isWish }) => isWish)
    .map(
      ({ shard, wanted }) =>
        `shard ${shard}: pinned to ${nameOf(wanted, status)}; 'fahao cluster move ${shard} auto' unpins it`,
    )
}

function numbersOf(shards: readonly ShardAnswer[]): number[] {
  return shards.map(({ shard }) => shard)
}

function cutOff(list: string): string {
  if (list.length <= shownShardsCharacters) return list
  return `${list.slice(0, list.lastIndexOf(',', shownShardsCharacters))},…`
}

function nameOf(id: string | null, { nodes }: ClusterAnswer): string {
  return nodes.find((node) => node.id === id)?.resp ?? id?.slice(0, shownIdCharacters) ?? 'no node'
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`
}
