/** A cluster at a glance: what is as it should be in one line, and the rest line by line. */
import type { ClusterAnswer } from '../http/native/cluster.ts'
import { bold, table } from './terminal.ts'

type ShardAnswer = ClusterAnswer['shards'][number]

const shownIdCharacters = 8
/** A longer list of shards is cut off in a table. */
const shownShardsCharacters = 48

/** Lines for people. */
export function clusterLines(status: ClusterAnswer): string[] {
  const { cluster, nodes, shards } = status
  const led = shards.filter(isLed).length
  const summary = `${cluster}: ${counted(nodes.length, 'node')}, ${led} of ${counted(shards.length, 'shard')} led`
  return [
    ...staleLines(status),
    bold(led === shards.length ? summary : `${summary}: ${shards.length - led} without a leader`),
    '',
    ...nodeTable(status),
    ...orphanLines(status),
    ...movingLines(status),
    ...wishLines(status),
  ]
}

/** Numbers with runs put together: `1,5-6,12-14`. They are in order. */
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

/** Why what follows may be no longer so; none where it is. */
function staleLines({ engine, leaseLeftMs, nodes, self }: ClusterAnswer): string[] {
  const reasons: string[] = []
  if (engine.state === 'down')
    reasons.push(`the engine does not answer this node (${engine.reason ?? 'it is down'})`)
  if (leaseLeftMs <= 0)
    reasons.push(
      nodes.some(({ id }) => id === self) ? "this node's lease has lapsed" : 'this node has not joined yet',
    )
  return reasons.length === 0 ? [] : [bold(`${reasons.join(', and ')}; what follows is from before`)]
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
  return table(['NODE', 'RESP', 'HTTP', 'LEADS', 'HEARD OF', 'VERSION', ''], rows)
}

/** What nobody leads, in one line for each node that should. */
function orphanLines(status: ClusterAnswer): string[] {
  const orphans = status.shards.filter((shard) => !isLed(shard))
  return [...Map.groupBy(orphans, ({ wanted }) => wanted)].map(([wanted, some]) => {
    const next = wanted === null ? 'there is no node to take' : `${placeOf(wanted, status)} should take`
    const longest = seconds(Math.max(...some.map(({ nobodyForMs }) => nobodyForMs ?? 0)))
    if (some.length > 1)
      return `shards ${rangesText(numbersOf(some))}: nobody leads them, for up to ${longest}; ${next} them`
    const { shard, firstSlot, lastSlot } = some[0]!
    return `shard ${shard} (slots ${firstSlot}-${lastSlot}): nobody leads it for ${longest}; ${next} it`
  })
}

/** What is led elsewhere than it should be: wishes one by one, and all others in one line. */
function movingLines(status: ClusterAnswer): string[] {
  const moving = status.shards.filter((shard) => isLed(shard) && shard.leader !== shard.wanted)
  const unasked = moving.filter(({ isWish }) => !isWish)
  const line = ({ shard, leader, wanted, isWish }: ShardAnswer) =>
    `shard ${shard}: goes from ${placeOf(leader, status)} to ${placeOf(wanted, status)}${isWish ? ', as was asked for' : ''}`
  const wished = moving.filter(({ isWish }) => isWish).map(line)
  if (unasked.length < 2) return [...unasked.map(line), ...wished]
  const targets = [...Map.groupBy(unasked, ({ wanted }) => wanted)].map(
    ([wanted, some]) => `${rangesText(numbersOf(some))} to ${placeOf(wanted, status)}`,
  )
  return [
    `${unasked.length} shards go where they belong, about a lease from now: ${targets.join('; ')}`,
    ...wished,
  ]
}

function wishLines(status: ClusterAnswer): string[] {
  return status.shards
    .filter(({ isWish }) => isWish)
    .map(
      ({ shard, wanted }) =>
        `shard ${shard}: moved to ${placeOf(wanted, status)} by hand; 'fahao cluster move ${shard} auto' ends it`,
    )
}

function numbersOf(shards: readonly ShardAnswer[]): number[] {
  return shards.map(({ shard }) => shard)
}

function cutOff(list: string): string {
  if (list.length <= shownShardsCharacters) return list
  return `${list.slice(0, list.lastIndexOf(',', shownShardsCharacters))},…`
}

function placeOf(id: string | null, { nodes }: ClusterAnswer): string {
  return nodes.find((node) => node.id === id)?.resp ?? id?.slice(0, shownIdCharacters) ?? 'nobody'
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`
}
