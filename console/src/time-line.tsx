/** What happened to the nodes and the leaders of shards in the last hour, as all nodes have seen it. */
import type { NodeEvent } from '../../src/metrics/node-events.ts'
import type { Cluster } from './answers.ts'
import { useAsked } from './asking.ts'
import { clockText } from './formats.ts'
import { t } from './texts.ts'
import { Badge } from './ui.tsx'

type Lead = Extract<NodeEvent, { kind: 'lead' }>
type Health = Extract<NodeEvent, { kind: 'health' }>
/** Shards that went from one node to another at a time. */
type Moved = { readonly atMs: number; readonly shards: number[]; readonly event: Lead }

/** Changes of leaders within this time, from one node to another, are one entry. */
const togetherMs = 10_000

/** Addresses by node, also of those that are gone. */
const addresses = new Map<string, string>()

/** How nodes are named: by their addresses, where they are known. */
export function useNodeNames(cluster?: Cluster): (id: string) => string {
  const asked = useAsked<Cluster>(cluster === undefined ? '/v1/cluster' : undefined, 10_000)
  for (const { id, resp, http } of (cluster ?? asked.answer)?.nodes ?? [])
    addresses.set(id, resp ?? http ?? id)
  return (id) => addresses.get(id) ?? id.slice(0, 8)
}

/** The time line, the newest first. */
export function TimeLine(props: {
  events: readonly NodeEvent[]
  nameOf: (id: string) => string
  empty: string
}) {
  const { events, nameOf, empty } = props
  const entries = entriesOf(events)
  if (entries.length === 0) return <p class="soft">{empty}</p>
  return (
    <ol class="time-line">
      {entries.map((entry) => (
        <li>
          <time dateTime={new Date(entry.atMs).toISOString()}>{clockText(entry.atMs)}</time>{' '}
          {'shards' in entry ? leadText(entry, nameOf) : <HealthText event={entry} nameOf={nameOf} />}
        </li>
      ))}
    </ol>
  )
}

function HealthText({ event, nameOf }: { event: Health; nameOf: (id: string) => string }) {
  const tone = event.state === 'ok' ? 'good' : event.state === 'down' ? 'bad' : 'warn'
  return (
    <>
      {t.nodeIs(nameOf(event.node))} <Badge tone={tone}>{t.health[event.state] ?? event.state}</Badge>{' '}
      {event.reason !== undefined && <span lang="en">{event.reason}</span>}
    </>
  )
}

function leadText({ event: { how, from, to }, shards }: Moved, nameOf: (id: string) => string) {
  const list = shards.sort((a, b) => a - b).join(', ')
  return `${t.leaderChanged(list, shards.length, nameOf(from), nameOf(to))} (${t.how[how]})`
}

function entriesOf(events: readonly NodeEvent[]): (Moved | Health)[] {
  const entries: (Moved | Health)[] = []
  for (const event of events) {
    if (event.kind === 'health') {
      entries.push(event)
      continue
    }
    const { shard, from, to, how, atMs } = event
    const same = entries.find(
      (entry) =>
        'shards' in entry &&
        entry.event.from === from &&
        entry.event.to === to &&
        entry.event.how === how &&
        entry.atMs - atMs < togetherMs,
    )
    if (same !== undefined && 'shards' in same) {
      if (!same.shards.includes(shard)) same.shards.push(shard)
    } else entries.push({ atMs, shards: [shard], event })
  }
  return entries
}
