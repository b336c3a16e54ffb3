/** What can be done to a cluster and its store: drain the node, move a leader, advance. */
import { useState } from 'preact/hooks'
import type { Cluster } from '../answers.ts'
import { t } from '../texts.ts'
import { Check, Input, Select } from '../ui.tsx'
import { Action } from './action.tsx'

/** Drains the node that serves this page, or lets it take part again. */
export function DrainNode({ cluster, onDone }: { cluster: Cluster; onDone: () => void }) {
  const own = cluster.nodes.find(({ id }) => id === cluster.self)
  const draining = own?.draining ?? false
  return (
    <Action
      label={draining ? t.endDrain : t.drain}
      title={draining ? t.endDrainTitle : t.drainTitle}
      does={draining ? [t.endDrainDoes] : [t.drainDoes(own?.leads ?? 0), t.drainStays]}
      undo={t.drainUndo}
      command={{ verb: ['cluster', 'drain'], options: draining ? ['--end'] : [] }}
      request={{ method: 'POST', path: '/v1/cluster/drain', body: { draining: !draining } }}
      onDone={onDone}
    />
  )
}

/** Pins a shard to a node, or ends that. */
export function MoveLeader({ cluster, onDone }: { cluster: Cluster; onDone: () => void }) {
  const [shard, setShard] = useState('0')
  const [to, setTo] = useState('')
  const target = cluster.nodes.find(({ id }) => id === to)
  const number = Number(shard)
  const leader = cluster.nodes.find(({ id }) => id === cluster.shards[number]?.leader)
  const addressOf = ({ resp, id }: Cluster['nodes'][number]) => resp ?? id.slice(0, 8)
  return (
    <Action
      label={t.moveLeader}
      title={t.moveTitle}
      does={[
        to === '' ? t.moveAuto(number) : t.moveDoes(number, target === undefined ? to : addressOf(target)),
        t.moveGap,
      ]}
      undo={t.moveUndo}
      command={{ verb: ['cluster', 'move'], about: [shard, to === '' ? 'auto' : (target?.resp ?? to)] }}
      request={{
        method: 'POST',
        path: '/v1/cluster/move',
        body: { shard: number, to: to === '' ? null : to },
      }}
      onDone={onDone}
    >
      <Select
        label={t.shard}
        value={shard}
        onValue={setShard}
        options={cluster.shards.map((each) => [String(each.shard), String(each.shard)])}
      />
      <p class="soft">{t.ledBy(leader === undefined ? '–' : addressOf(leader))}</p>
      <Select
        label={t.toNode}
        value={to}
        onValue={setTo}
        options={[['', t.assignment], ...cluster.nodes.map((node) => [node.id, addressOf(node)] as const)]}
      />
    </Action>
  )
}

/** Raises every bound. */
export function AdvanceEngine() {
  const [by, setBy] = useState('')
  const [force, setForce] = useState(false)
  const ok = /^[1-9]\d{0,18}$/.test(by)
  return (
    <Action
      label={t.advance}
      title={t.advanceTitle}
      does={[t.advanceDoes(ok ? by : 'N'), t.advanceAccepts]}
      undo={t.advanceUndo}
      name="advance"
      command={{ verb: ['advance'], options: ['--by', ok ? by : 'N', ...(force ? ['--force'] : [])] }}
      request={
        ok
          ? { method: 'POST', path: '/v1/engine/advance', body: { by, ...(force ? { force } : {}) } }
          : undefined
      }
    >
      <Input label={t.advanceBy} value={by} onValue={setBy} hint={t.advanceHint} />
      <Check label={t.floorForce} value={force} onValue={setForce} />
    </Action>
  )
}
