/** Events as log lines. */
import type { LogEvent } from '../base/events.ts'
import type { ClockStep } from '../base/timeline.ts'
import { formatDuration } from '../base/units.ts'
import type { ClusterEvent } from '../cluster/events.ts'
import { byAdvance } from '../cluster/records.ts'

/** The log line of an event of a cluster, with durations. */
export function clusterEventText(event: ClusterEvent): LogEvent {
  switch (event.type) {
    case 'joined':
      return info(`joined the cluster as node ${event.node}`)
    case 'left':
      return info(`left the cluster; this was node ${event.node}`)
    case 'lapsed':
      return warn(`the lease has lapsed, this node issues no strict ids: ${event.reason}`)
    case 'resumed':
      return warn(`the lease is valid again after ${ms(event.lapsedMs)}; no other node led in between`)
    case 'died':
      return warn(`${endOf(event.by)}: this node joins again under another id`)
    case 'declaredDead':
      return warn(`declared node ${event.node} dead, which has not renewed for ${ms(event.silentMs)}`)
    case 'won':
      return info(
        `leads shard ${event.shard} with fence ${event.fence}, ${event.from === '' ? 'which had no leader before' : `after node ${event.from}`}; vacant for ${ms(event.vacantMs)}`,
      )
    case 'lost':
      return warn(
        `lost shard ${event.shard} (fence ${event.fence})${event.to === '' ? '' : ` to node ${event.to}`}`,
      )
    case 'handedOver':
      return info(
        `handed shard ${event.shard} over to ${event.to === '' ? 'no node' : `node ${event.to}`}: released in ${ms(event.releaseMs)}, written in ${ms(event.writeMs)}`,
      )
    case 'sealedOut':
      return warn(
        `shard ${event.shard} has a newer leader: a counter has seen fence ${event.by} and refuses fence ${event.fence}`,
      )
    case 'versions':
      return event.versions.length > 1
        ? warn(
            `the nodes run different versions (${event.versions.join(', ')}): the cluster is being upgraded, or was left half-way`,
          )
        : info(`all nodes run version ${event.versions[0]}`)
    case 'trouble':
      return warn(event.message)
  }
}

function endOf(by: string): string {
  if (by === byAdvance) return 'the store was advanced, which ends every lease'
  return by === '' ? 'the record of this node is gone' : `declared dead by node ${by}`
}

function info(message: string): LogEvent {
  return { level: 'info', message }
}

function warn(message: string): LogEvent {
  return { level: 'warn', message }
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`
}

/** The log line of a step of the wall clock. */
export function clockStepText({ state, aheadUs }: ClockStep): LogEvent {
  const ahead = formatDuration(Math.round(aheadUs / 1_000_000) * 1000)
  const text = {
    held: `the wall clock stands ${ahead} ahead; waiting to see whether it stays there`,
    taken: `the wall clock stayed ${ahead} ahead and is followed now`,
    gone: 'the wall clock came back by itself; nothing was issued from where it had been',
  }
  return { level: state === 'gone' ? 'info' : 'warn', message: text[state] }
}
