/** What the node does now and did in the last hour, what fails, and what ends soon. */
import { useState } from 'preact/hooks'
import type { Health } from '../answers.ts'
import { useAsked } from '../asking.ts'
import { Chart } from '../chart.tsx'
import { clockText, durationText, grouped, momentText, rateText, short } from '../formats.ts'
import { useLive } from '../live.ts'
import { type Counts, type LiveFigures, sumOf } from '../live-figures.ts'
import { linkTo } from '../route.ts'
import { t } from '../texts.ts'
import { TimeLine, useNodeNames } from '../time-line.tsx'
import { Badge, Card, Figure, PageHead, ProblemNote, Table } from '../ui.tsx'

const shownAtFirst = 12
const daySeconds = 86_400
/** What ends later does not end soon. */
const soonSeconds = 5 * 365 * daySeconds
const endingMax = 10

/** The page. */
export function OverviewPage() {
  const { figures, problem } = useLive()
  const health = useAsked<Health>('/healthz', 5000)
  const nameOf = useNodeNames()
  const least = figures === undefined ? health.answer?.inHandSeconds : leastOf(figures)
  const isUsed = figures === undefined || figures.now.size > 0
  return (
    <>
      <PageHead
        title={t.nav['']}
        lead={
          figures === undefined
            ? ''
            : t.ofNodes(figures.nodes.filter(({ away }) => away === undefined).length)
        }
      />
      {problem?.status === 404 ? <p class="problem">{t.noStream}</p> : <ProblemNote problem={problem} />}
      {figures?.nodes.map(({ id, away, tick }) =>
        away !== undefined ? (
          <p class="problem">
            {t.nodeAway(nameOf(id))} <span lang="en">{away.reason}</span>
          </p>
        ) : (
          tick !== undefined &&
          tick.state !== 'ok' && (
            <p class="problem">
              {t.nodeIs(nameOf(id))} {t.health[tick.state] ?? tick.state} <span lang="en">{tick.reason}</span>
            </p>
          )
        ),
      )}
      <dl class="figures">
        <Figure name={t.idsNow} value={rateText(figures?.rate())} note={t.perSecond} />
        <Figure name={t.idsLastHour} value={figures === undefined ? '–' : short(sumOf(figures.issued))} />
        <Figure
          name={t.leastBuffered}
          value={durationText(least)}
          note={least !== null ? t.withoutStore : isUsed ? t.noneIssues : t.idle}
        />
        <Figure name={t.errorsLastHour} value={figures === undefined ? '–' : grouped(errorsOf(figures))} />
      </dl>
      {figures !== undefined && (
        <div class="cards">
          <Card title={t.idsChart} wide>
            <Chart
              title={t.idsChart}
              times={figures.times}
              lines={[{ name: t.idsPerSecond, values: figures.rates(figures.issued) }]}
            />
          </Card>
          <Errors figures={figures} nameOf={nameOf} />
          <EndsSoon figures={figures} />
          <Busiest figures={figures} />
        </div>
      )}
    </>
  )
}

/** How long the generator lasts that would run out first, of those that issue now; null: none does. */
function leastOf(figures: LiveFigures): number | null {
  const seconds = [...figures.now.values()].flatMap(({ bufferedSeconds, endsSeconds }) =>
    // What has ended asks for no attention here: it is the first of what ends.
    endsSeconds !== null && endsSeconds <= 0 ? [] : (bufferedSeconds ?? []),
  )
  return seconds.length === 0 ? null : Math.min(...seconds)
}

function errorsOf(figures: LiveFigures): number {
  return [...figures.errors.values()].reduce((sum, row) => sum + sumOf(row), 0)
}

function Errors({ figures, nameOf }: { figures: LiveFigures; nameOf: (id: string) => string }) {
  const { events } = figures
  const codes = [...figures.errors].filter(([, row]) => sumOf(row) > 0)
  const lastAt = (row: Counts) => {
    const index = row.findLastIndex((each) => each !== null && each > 0)
    return index < 0 ? '–' : clockText(figures.endsMs[index]!)
  }
  return (
    <Card title={t.errorsByCode} wide>
      {codes.length > 0 && (
        <Chart
          title={t.errorsByCode}
          times={figures.times}
          lines={codes.map(([name, row]) => ({ name, values: figures.rates(row) }))}
          marks={events.map(({ atMs }) => atMs / 1000)}
        />
      )}
      <Table
        caption={t.errorsByCode}
        rows={codes}
        keyOf={([code]) => code}
        empty={t.noErrors}
        columns={[
          { head: t.code, cell: ([code]) => <a href={`/docs#${code}`}>{code}</a> },
          { head: t.meaning, cell: ([code]) => (t.meanings as Readonly<Record<string, string>>)[code] ?? '' },
          {
            head: t.lastMinute,
            cell: ([, row]) => grouped(sumOf(row, 60_000 / figures.stepMs)),
            numeric: true,
          },
          { head: t.lastHour, cell: ([, row]) => grouped(sumOf(row)), numeric: true },
          { head: t.lastAt, cell: ([, row]) => lastAt(row), numeric: true },
        ]}
      />
      <h3>{t.happened}</h3>
      <TimeLine events={events} nameOf={nameOf} empty={t.nothingHappened} />
    </Card>
  )
}

function EndsSoon({ figures }: { figures: LiveFigures }) {
  const ending = [...figures.now]
    .flatMap(([name, { kind, endsSeconds }]) =>
      endsSeconds === null || endsSeconds > soonSeconds ? [] : [{ name, kind, seconds: endsSeconds }],
    )
    .sort((left, right) => left.seconds - right.seconds)
    .slice(0, endingMax)
  return (
    <Card title={t.endsSoon} note={t.endsNote} wide>
      <Table
        caption={t.endsSoon}
        rows={ending}
        keyOf={({ name }) => name}
        empty={t.nothingEnds}
        columns={[
          { head: t.name, cell: ({ name }) => <a href={linkTo('generators', [name])}>{name}</a> },
          { head: t.kind, cell: ({ kind }) => kind },
          {
            head: t.endsIn,
            cell: ({ seconds }) => (
              <Badge tone={seconds < 30 * daySeconds ? 'bad' : seconds < 365 * daySeconds ? 'warn' : 'plain'}>
                {seconds <= 0 ? t.ended : durationText(seconds)}
              </Badge>
            ),
            numeric: true,
          },
          {
            head: t.endsAt,
            cell: ({ seconds }) => (seconds <= 0 ? '–' : momentText(Date.now() + seconds * 1000)),
            numeric: true,
          },
        ]}
      />
    </Card>
  )
}

function Busiest({ figures }: { figures: LiveFigures }) {
  const [all, setAll] = useState(false)
  const rows = [...figures.now]
    .map(([name, now]) => ({
      name,
      now,
      counts: figures.generators.get(name) ?? [],
      rate: figures.rate(name),
    }))
    .sort((left, right) => sumOf(right.counts) - sumOf(left.counts) || (left.name < right.name ? -1 : 1))
  const shown = all ? rows : rows.slice(0, shownAtFirst)
  return (
    <Card title={t.busiest} note={t.busiestNote} wide>
      <Table
        caption={t.busiest}
        rows={shown}
        keyOf={({ name }) => name}
        empty={t.noneInUse}
        columns={[
          { head: t.name, cell: ({ name }) => <a href={linkTo('generators', [name])}>{name}</a> },
          { head: t.perSecond, cell: ({ rate }) => rateText(rate), numeric: true },
          { head: t.buffered, cell: ({ now }) => short(now.buffered), numeric: true },
          { head: t.lasts, cell: ({ now }) => durationText(now.bufferedSeconds), numeric: true },
          { head: t.refills, cell: ({ now }) => grouped(now.refills), numeric: true },
          { head: t.waits, cell: ({ now }) => grouped(now.waits), numeric: true },
          {
            head: t.lastHour,
            cell: ({ name, counts }) => (
              <Chart
                small
                title={name}
                times={figures.times}
                lines={[{ name, values: figures.rates(counts) }]}
              />
            ),
          },
        ]}
      />
      {rows.length > shownAtFirst && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? t.fewer : t.showAll(rows.length)}
        </button>
      )}
    </Card>
  )
}
