/** The audit trail: what was changed, and which logins and requests were refused. */
import { useState } from 'preact/hooks'
import type { AuditEntry, AuditPage as Page } from '../answers.ts'
import { withQuery } from '../api.ts'
import { useAsked } from '../asking.ts'
import { go, linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Input, Moment, PageHead, Shown, Table } from '../ui.tsx'

const limit = 100
const refusals = ['login-failed', 'denied']
const filters = ['user', 'event', 'object', 'since'] as const

/** The page. */
export function AuditPage({ route: { query } }: { route: Route }) {
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>(Object.fromEntries(query))
  const after = query.get('after')
  const given = Object.fromEntries(filters.map((name) => [name, query.get(name)]))
  const asked = useAsked<Page>(withQuery('/v1/audit', { ...given, after, limit }))
  const search = (event: Event) => {
    event.preventDefault()
    go(linkTo('audit', [], Object.fromEntries(filters.map((name) => [name, typed[name]]))))
  }
  return (
    <>
      <PageHead title={t.nav.audit} lead={t.auditLead} />
      <form class="search many" onSubmit={search}>
        {filters.map((name) => (
          <Input
            label={t.auditFilters[name]}
            value={typed[name] ?? ''}
            onValue={(value) => setTyped({ ...typed, [name]: value })}
            hint={t.auditHints[name]}
          />
        ))}
        <button type="submit" class="primary">
          {t.show}
        </button>
      </form>
      <Shown asked={asked}>
        {({ entries, next }) => (
          <>
            <AuditTable entries={entries} />
            <nav class="pager" aria-label={t.paging}>
              {after !== undefined && <a href={linkTo('audit', [], given)}>{t.firstPage}</a>}
              {next !== null && <a href={linkTo('audit', [], { ...given, after: next })}>{t.nextPage}</a>}
            </nav>
          </>
        )}
      </Shown>
    </>
  )
}

/** Entries, the newest first. */
export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <Table
      caption={t.nav.audit}
      rows={entries}
      keyOf={({ time, event, object, user, address }) => [time, event, object, user, address].join(' ')}
      columns={[
        { head: t.time, cell: ({ time }) => <Moment at={time} /> },
        {
          head: t.event,
          cell: ({ event }) => <Badge tone={refusals.includes(event) ? 'bad' : 'plain'}>{event}</Badge>,
        },
        { head: t.object, cell: ({ object }) => object },
        { head: t.user, cell: ({ user }) => user },
        { head: t.address, cell: ({ address, door }) => `${address} (${door})` },
        { head: t.node, cell: ({ node }) => node },
        { head: t.times, cell: ({ count }) => String(count), numeric: true },
        { head: t.detail, cell: ({ detail }) => detail ?? '' },
      ]}
    />
  )
}
