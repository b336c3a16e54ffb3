/** Worker ids of snowflakes, with their holders and how many are left, and those of a pool. */
import { useState } from 'preact/hooks'
import { callersShare } from '../../../src/ids/limits.ts'
import type { GeneratorPage, Listed, PlainWorker, Worker } from '../answers.ts'
import { ask, withQuery } from '../api.ts'
import { useAsked, useLoaded } from '../asking.ts'
import { layoutOf } from '../bits.tsx'
import { grouped, momentText } from '../formats.ts'
import { linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Card, Figure, Input, PageHead, Shown, Table } from '../ui.tsx'

const pageSize = 1000
/** Beyond this many the page says that there are more. */
const workersMax = 10_000

type Page = { readonly workers: readonly Worker[]; readonly next: number | null }
type All = {
  readonly workers: readonly Worker[]
  readonly more: boolean
  readonly snowflakes: GeneratorPage['generators']
}

async function loadAll(signal: AbortSignal): Promise<All> {
  const workers: Worker[] = []
  let next: number | null | undefined
  do {
    const path = withQuery('/v1/leases', { after: next ?? undefined, limit: pageSize })
    const page: Page = await ask<Page>({ method: 'GET', path }, signal)
    workers.push(...page.workers)
    next = page.next
  } while (next !== null && workers.length < workersMax)
  const listed = await ask<GeneratorPage>({ method: 'GET', path: '/v1/generators?limit=1000' }, signal)
  return {
    workers,
    more: next !== null,
    snowflakes: listed.generators.filter(({ kind }) => kind === 'snowflake'),
  }
}

/** The page. */
export function LeasesPage(_: { route: Route }) {
  const asked = useLoaded('leases', loadAll, 15_000)
  return (
    <>
      <PageHead title={t.nav.leases} lead={t.leasesLead} />
      <Shown asked={asked}>{(all) => <Workers all={all} />}</Shown>
      <Pool />
    </>
  )
}

function Workers({ all: { workers, more, snowflakes } }: { all: All }) {
  const held = workers.filter(({ state }) => state === 'held')
  return (
    <>
      <dl class="figures">
        <Figure name={t.heldByNodes} value={grouped(held.filter(({ by }) => by === 'node').length)} />
        <Figure name={t.heldByCallers} value={grouped(held.filter(({ by }) => by === 'caller').length)} />
        <Figure name={t.resting} value={grouped(workers.length - held.length)} note={t.restingNote} />
      </dl>
      <div class="cards">
        <Card title={t.left} note={t.leftNote} wide>
          <Table
            caption={t.left}
            rows={snowflakes}
            keyOf={({ name }) => name}
            empty={t.noSnowflakes}
            columns={[
              { head: t.name, cell: ({ name }) => <a href={linkTo('generators', [name])}>{name}</a> },
              { head: t.workerBits, cell: (each) => String(bitsOf(each)), numeric: true },
              { head: t.ofAll, cell: (each) => grouped(callersShare(bitsOf(each)).end), numeric: true },
              {
                head: t.leftForCallers,
                cell: (each) => <strong>{grouped(leftOf(workers, callersShare(bitsOf(each))))}</strong>,
                numeric: true,
              },
              {
                head: t.leftForNodes,
                cell: (each) => {
                  const { end } = callersShare(bitsOf(each))
                  return <strong>{grouped(leftOf(workers, { first: 0, end }))}</strong>
                },
                numeric: true,
              },
            ]}
          />
        </Card>
        <Card title={t.workerLeases} {...(more ? { note: t.thereAreMore } : {})} wide>
          <WorkerTable workers={workers} />
        </Card>
      </div>
    </>
  )
}

function bitsOf({ definition }: Listed): number {
  return layoutOf(definition.layout)?.nodeBits ?? 0
}

/** How many worker ids are neither held nor rest. */
function leftOf(workers: readonly Worker[], { first, end }: ReturnType<typeof callersShare>): number {
  return end - first - workers.filter(({ worker }) => worker >= first && worker < end).length
}

/** Worker ids with their holders. */
export function WorkerTable({ workers }: { workers: readonly Worker[] }) {
  return (
    <Table
      caption={t.workerLeases}
      rows={workers}
      keyOf={({ worker, by, generator }) => `${worker} ${by} ${generator}`}
      columns={[
        { head: t.workerId, cell: ({ worker }) => String(worker), numeric: true },
        {
          head: t.state,
          cell: ({ state }) => (
            <Badge tone={state === 'held' ? 'good' : 'plain'}>{t.workerStates[state]}</Badge>
          ),
        },
        { head: t.heldBy, cell: ({ by }) => t.holders[by] },
        { head: t.holder, cell: ({ holder }) => holder },
        {
          head: t.generator,
          cell: ({ generator }) =>
            generator === null ? '–' : <a href={linkTo('generators', [generator])}>{generator}</a>,
        },
        { head: t.user, cell: ({ user }) => user ?? '–' },
        { head: t.until, cell: ({ untilUs }) => momentText(untilUs / 1000), numeric: true },
      ]}
    />
  )
}

/** The plain worker ids of a pool, whose name the reader gives. */
function Pool() {
  const [typed, setTyped] = useState('')
  const [pool, setPool] = useState('')
  const path = pool === '' ? undefined : `/v1/pools/${encodeURIComponent(pool)}/workers?limit=1000`
  const asked = useAsked<{ workers: readonly PlainWorker[] }>(path)
  const show = (event: Event) => {
    event.preventDefault()
    setPool(typed)
  }
  return (
    <Card title={t.plainWorkers} note={t.plainNote} wide>
      <form class="search" onSubmit={show}>
        <Input label={t.pool} value={typed} onValue={setTyped} />
        <button type="submit">{t.show}</button>
      </form>
      {pool !== '' && (
        <Shown asked={asked}>
          {({ workers }) => (
            <Table
              caption={t.plainWorkers}
              rows={workers}
              keyOf={({ worker }) => String(worker)}
              columns={[
                { head: t.workerId, cell: ({ worker }) => String(worker), numeric: true },
                {
                  head: t.state,
                  cell: ({ state }) => (
                    <Badge tone={state === 'held' ? 'good' : 'plain'}>{t.workerStates[state]}</Badge>
                  ),
                },
                { head: t.holder, cell: ({ owner }) => owner },
                { head: t.user, cell: ({ user }) => user },
                { head: t.until, cell: ({ untilUs }) => momentText(untilUs / 1000), numeric: true },
              ]}
            />
          )}
        </Shown>
      )}
    </Card>
  )
}
