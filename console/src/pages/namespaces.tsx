/** Namespaces, and how much of their quotas is used on this node. */
import type { Namespace } from '../answers.ts'
import { useAsked } from '../asking.ts'
import { grouped } from '../formats.ts'
import { linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Card, PageHead, Shown, Table } from '../ui.tsx'

/** The page. */
export function NamespacesPage(_: { route: Route }) {
  const asked = useAsked<{ namespaces: readonly Namespace[] }>('/v1/namespaces', 5000)
  return (
    <>
      <PageHead title={t.nav.namespaces} lead={t.namespacesLead} />
      <Card>
        <Shown asked={asked}>{({ namespaces }) => <List namespaces={namespaces} />}</Shown>
      </Card>
    </>
  )
}

function List({ namespaces }: { namespaces: readonly Namespace[] }) {
  const limit = (value: string | number | undefined) => (value === undefined ? '–' : grouped(value))
  return (
    <Table
      caption={t.nav.namespaces}
      rows={namespaces}
      keyOf={({ name }) => name}
      empty={t.noNamespaces}
      columns={[
        { head: t.name, cell: ({ name }) => name },
        { head: t.pattern, cell: ({ match }) => <a href={linkTo('generators', [], { match })}>{match}</a> },
        {
          head: t.owner,
          cell: ({ owner, user }) => [owner, user].filter((each) => each !== undefined).join(', ') || '–',
        },
        { head: t.perSecondQuota, cell: ({ idsPerSecond }) => limit(idsPerSecond), numeric: true },
        { head: t.perDayQuota, cell: ({ idsPerDay }) => limit(idsPerDay), numeric: true },
        { head: t.dayUsed, cell: ({ here }) => <Share share={here.shareOfDay} />, numeric: true },
        { head: t.issued, cell: ({ here }) => grouped(here.issued), numeric: true },
        {
          head: t.refused,
          cell: ({ here }) => (
            <Badge tone={here.refused > 0 ? 'warn' : 'plain'}>{grouped(here.refused)}</Badge>
          ),
          numeric: true,
        },
        {
          head: t.waitingNow,
          cell: ({ here, waiting }) =>
            waiting === undefined ? grouped(here.waiting) : t.of(grouped(here.waiting), limit(waiting)),
          numeric: true,
        },
        { head: t.generatorsMax, cell: ({ generators }) => limit(generators), numeric: true },
        { head: t.leasesMax, cell: ({ leases }) => limit(leases), numeric: true },
      ]}
    />
  )
}

function Share({ share }: { share: number | null }) {
  if (share === null) return '–'
  const percent = `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`
  return (
    <span class="share">
      <meter min={0} max={1} high={0.8} optimum={0} value={Math.min(share, 1)} aria-label={percent} />
      {percent}
    </span>
  )
}
