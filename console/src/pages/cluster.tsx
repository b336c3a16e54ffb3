/** The cluster: its nodes, the leader of each shard as a map, and what has changed in the last hour. */
import type { Cluster, ClusterNode, Shard } from '../answers.ts'
import { useAsked } from '../asking.ts'
import { durationText, momentText } from '../formats.ts'
import { AdvanceEngine, DrainNode, MoveLeader } from '../forms/cluster-forms.tsx'
import { useLive } from '../live.ts'
import { linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { TimeLine, useNodeNames } from '../time-line.tsx'
import { Badge, Card, Figure, PageHead, ProblemNote, Shown, Table } from '../ui.tsx'

/** Colours of nodes in the map; each also has its letter. */
const colours = 6
/** A node that has not renewed for this long is named: the lease is 3 s by default. */
const silentMaxMs = 3000

/** The page. */
export function ClusterPage(_: { route: Route }) {
  const asked = useAsked<Cluster>('/v1/cluster', 2000)
  const { answer: cluster, problem } = asked
  const isAlone = problem?.status === 400
  return (
    <>
      <PageHead title={t.nav.cluster} lead={cluster === undefined ? '' : t.clusterLead(cluster.cluster)}>
        {cluster !== undefined && <MoveLeader cluster={cluster} onDone={asked.again} />}
        {cluster !== undefined && <DrainNode cluster={cluster} onDone={asked.again} />}
        <AdvanceEngine />
      </PageHead>
      {isAlone ? <p>{t.noCluster}</p> : <Shown asked={asked}>{(shown) => <Parts cluster={shown} />}</Shown>}
    </>
  )
}

function addressOf({ resp, http, id }: ClusterNode): string {
  return resp ?? http ?? id.slice(0, 8)
}

function Parts({ cluster }: { cluster: Cluster }) {
  const { figures, problem } = useLive()
  const nameOf = useNodeNames(cluster)
  const { nodes, shards, engine, leaseLeftMs, versions } = cluster
  const unled = shards.filter(({ leader }) => leader === null).length
  return (
    <>
      <dl class="figures">
        <Figure name={t.nodes} value={String(nodes.length)} note={versions.join(', ')} />
        <Figure name={t.unledShards} value={String(unled)} note={t.ofShards(shards.length)} />
        <Figure name={t.leaseLeft} value={durationText(leaseLeftMs / 1000)} note={t.ofThisNode} />
        <Figure
          name={t.store}
          value={engine.state === 'up' ? t.storeUp : t.storeDown}
          note={engine.reason ?? undefined}
        />
      </dl>
      {versions.length > 1 && <p class="problem">{t.mixedVersions(versions.join(', '))}</p>}
      <div class="cards">
        <Card title={t.nodes} wide>
          <Nodes cluster={cluster} />
        </Card>
        <Card title={t.shardMap} note={t.shardMapNote} wide>
          <ShardMap cluster={cluster} />
        </Card>
        <Card title={t.changes} note={t.changesNote} wide>
          <ProblemNote problem={problem} />
          <TimeLine events={figures?.events ?? []} nameOf={nameOf} empty={t.noChanges} />
          <p>
            <a href={linkTo('audit', [], { event: 'cluster-move' })}>{t.movesInAudit}</a>
          </p>
        </Card>
      </div>
    </>
  )
}

function letterOf(cluster: Cluster, id: string | null): string {
  const index = cluster.nodes.findIndex((node) => node.id === id)
  return index < 0 ? '?' : String.fromCharCode(65 + (index % 26))
}

function Nodes({ cluster }: { cluster: Cluster }) {
  return (
    <Table
      caption={t.nodes}
      rows={cluster.nodes}
      keyOf={({ id }) => id}
      columns={[
        {
          head: t.node,
          cell: ({ id }) => {
            const index = cluster.nodes.findIndex((node) => node.id === id)
            return <span class={`node-letter node-${index % colours}`}>{letterOf(cluster, id)}</span>
          },
        },
        {
          head: t.address,
          cell: (node) => (
            <>
              {addressOf(node)} {node.id === cluster.self && <Badge>{t.thisNode}</Badge>}
            </>
          ),
        },
        { head: t.state, cell: (node) => <NodeBadge node={node} /> },
        { head: t.leads, cell: ({ leads }) => String(leads), numeric: true },
        { head: t.version, cell: ({ version }) => version },
        { head: t.joined, cell: ({ joined }) => momentText(joined) },
        { head: t.silent, cell: ({ silentMs }) => durationText(silentMs / 1000), numeric: true },
      ]}
    />
  )
}

function NodeBadge({ node: { silentMs, draining } }: { node: ClusterNode }) {
  if (silentMs > silentMaxMs) return <Badge tone="bad">{t.notHeard}</Badge>
  return draining ? <Badge tone="warn">{t.draining}</Badge> : <Badge tone="good">{t.takesPart}</Badge>
}

function ShardMap({ cluster }: { cluster: Cluster }) {
  return (
    <ul class="shard-map">
      {cluster.shards.map((shard) => {
        const index = cluster.nodes.findIndex(({ id }) => id === shard.leader)
        return (
          <li class={index < 0 ? 'shard unled' : `shard node-${index % colours}`}>
            <b>{shard.shard}</b> {letterOf(cluster, shard.leader)}
            <span class="hidden">{stateOf(shard)}</span>
            <small aria-hidden="true">{stateOf(shard)}</small>
          </li>
        )
      })}
    </ul>
  )
}

function stateOf({ leader, nobodyForMs, restsForMs, wanted, isWish }: Shard): string {
  if (leader === null)
    return restsForMs === null ? t.shardUnled : t.shardRests(durationText(restsForMs / 1000))
  if (nobodyForMs !== null) return t.shardUnled
  if (wanted !== null && wanted !== leader) return t.shardMoves
  return isWish ? t.shardPinned : ''
}
