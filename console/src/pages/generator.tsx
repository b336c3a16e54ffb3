/** A generator: what it is, what it does, how long it lasts, how far readers may trust its order, and what happened to it. */
import type { AuditPage, Generator, Worker } from '../answers.ts'
import { generatorPath, withQuery } from '../api.ts'
import { useAsked } from '../asking.ts'
import { Bits, layoutOf } from '../bits.tsx'
import { Chart } from '../chart.tsx'
import { durationText, grouped, momentText, rateText, short } from '../formats.ts'
import { AlterGenerator, DrawSample, DropGenerator, MoveFloor } from '../forms/generator-forms.tsx'
import { useLive } from '../live.ts'
import { linkTo } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Card, Facts, Figure, PageHead, ProblemNote, Shown } from '../ui.tsx'
import { AuditTable } from './audit.tsx'
import { WorkerTable } from './leases.tsx'

/** The page. */
export function GeneratorPage({ name }: { name: string }) {
  const asked = useAsked<Generator>(generatorPath(name), 5000)
  const { answer: generator } = asked
  return (
    <>
      <PageHead title={name} lead={generator === undefined ? '' : t.kindMeaning[generator.kind]}>
        {generator !== undefined && (
          <>
            <DrawSample name={name} onDone={asked.again} />
            <AlterGenerator generator={generator} onDone={asked.again} />
            {isCounterKind(generator.kind) && <MoveFloor generator={generator} onDone={asked.again} />}
            <DropGenerator name={name} />
          </>
        )}
      </PageHead>
      <Shown asked={asked}>{(shown) => <Parts generator={shown} />}</Shown>
      {generator === undefined && asked.problem?.status !== 404 && (
        // What it is stands in the store, which may be away; what it does does not.
        <div class="cards">
          <LiveChart name={name} />
        </div>
      )}
    </>
  )
}

function Parts({ generator }: { generator: Generator }) {
  const { name, kind, definition, stats, exhaustedAt, notes } = generator
  const { figures } = useLive([name])
  const layout = definition.layout === undefined ? undefined : layoutOf(definition.layout)
  const last = generator.lastIssued
  const end = exhaustedAt === null ? undefined : (Date.parse(exhaustedAt) - Date.now()) / 1000
  return (
    <>
      <dl class="figures">
        <Figure
          name={t.idsNow}
          value={rateText(figures?.rate(name) ?? stats?.ratePerSecond)}
          note={t.perSecond}
        />
        {isCounterKind(kind) && (
          <Figure name={t.peak} value={rateText(stats?.peakPerSecond)} note={t.perSecond} />
        )}
        <Figure
          name={t.lasts}
          value={durationText(stats?.inHandSeconds)}
          note={stats == null ? t.notInUse : t.withoutStore}
        />
        <Figure
          name={t.ends}
          value={end === undefined ? t.notInSight : end <= 0 ? t.ended : t.in(durationText(end))}
          note={exhaustedAt === null ? undefined : momentText(exhaustedAt)}
        />
      </dl>
      <div class="cards">
        <LiveChart name={name} />
        <Card title={t.definition}>
          <Facts
            facts={Object.entries(definition).map(([option, value]) => [
              option,
              <code>{String(value)}</code>,
            ])}
          />
        </Card>
        <Card title={t.position}>
          <Facts
            facts={[
              [
                t.lastIssued,
                last === null ? (
                  '–'
                ) : (
                  <a href={linkTo('decode', [], { id: last, generator: name })}>{last}</a>
                ),
              ],
              [t.bound, generator.bound === null ? '–' : <code>{generator.bound}</code>],
              ...(generator.presentPeriod === undefined
                ? []
                : ([
                    [t.period, t.periodUntil(generator.presentPeriod, momentText(generator.periodEnds!))],
                    [t.leftInPeriod, grouped(Number(generator.leftInPeriod))],
                  ] as const)),
              [t.incarnation, generator.incarnation],
              [t.mode, t.modes[generator.mode]],
              ...(generator.mode === 'leader'
                ? [[t.leader, <a href={linkTo('cluster')}>{generator.leader ?? t.noLeader}</a>] as const]
                : []),
            ]}
          />
          {notes.length > 0 && (
            <ul lang="en">
              {notes.map((note) => (
                <li>{note}</li>
              ))}
            </ul>
          )}
        </Card>
        {stats !== null && <FiguresHere generator={generator} />}
        {layout !== undefined && (
          <Card title={t.layout} wide>
            <Bits layout={layout} id={last !== null && /^\d+$/.test(last) ? BigInt(last) : undefined} />
          </Card>
        )}
        <Card title={t.trust} wide>
          <p>{t.trustRisk[trustOf(generator)]}</p>
          <p>{t.trustRecipe[trustOf(generator)]}</p>
          <h3>{t.trustHere}</h3>
          <p lang="en">{generator.readers}</p>
        </Card>
        {kind === 'snowflake' && <Leases name={name} />}
        <History name={name} />
      </div>
    </>
  )
}

function LiveChart({ name }: { name: string }) {
  const { figures, problem } = useLive([name])
  const counts = figures?.generators.get(name)
  return (
    <Card title={t.idsChart} wide>
      {counts !== undefined && figures !== undefined ? (
        <Chart
          title={name}
          times={figures.times}
          lines={[{ name: t.idsPerSecond, values: figures.rates(counts) }]}
        />
      ) : (
        <p class="soft">{problem === undefined ? t.noChart : t.noStream}</p>
      )}
    </Card>
  )
}

function isCounterKind(kind: Generator['kind']): boolean {
  return kind === 'sequence' || kind === 'segment'
}

/** What a poller of `id > last` has to reckon with. */
function trustOf({ kind, definition }: Generator): 'strict' | 'perNode' | 'none' {
  if (definition.within === 'shuffled' || definition.scramble === true) return 'none'
  return kind === 'sequence' || kind === 'timestamp' ? 'strict' : 'perNode'
}

function FiguresHere({ generator: { stats, kind, mode } }: { generator: Generator }) {
  const known = stats!
  return (
    <Card title={mode === 'leader' ? t.figuresOfLeader : t.figuresHere} note={t.sinceStart}>
      <Facts
        facts={[
          [t.issued, grouped(known.issued)],
          [t.buffered, short(known.inHand)],
          [t.refills, grouped(known.refills)],
          [
            t.refillFailures,
            <Badge tone={known.refillFailures > 0 ? 'warn' : 'plain'}>{grouped(known.refillFailures)}</Badge>,
          ],
          [t.refillTime, durationText(known.refills === 0 ? null : known.refillSeconds / known.refills)],
          [t.waits, grouped(known.waits)],
          [t.waitingNow, grouped(known.waiting)],
          [t.dry, durationText(known.drySeconds)],
          ...(isCounterKind(kind)
            ? ([
                [t.reserved, grouped(known.reserved)],
                [t.released, grouped(known.released)],
              ] as const)
            : []),
          ...(known.leased > 0
            ? ([
                [t.leased, grouped(known.leased)],
                [t.returned, grouped(known.returned)],
              ] as const)
            : []),
          ...(known.callersPerSecond > 0 ? ([[t.byCallers, rateText(known.callersPerSecond)]] as const) : []),
        ]}
      />
    </Card>
  )
}

function Leases({ name }: { name: string }) {
  const asked = useAsked<{ workers: readonly Worker[] }>(
    withQuery('/v1/leases', { match: exactly(name), limit: 100 }),
    10_000,
  )
  return (
    <Card title={t.workerLeases} wide>
      <Shown asked={asked}>{({ workers }) => <WorkerTable workers={workers} />}</Shown>
    </Card>
  )
}

function History({ name }: { name: string }) {
  const asked = useAsked<AuditPage>(withQuery('/v1/audit', { object: exactly(name), limit: 20 }))
  return (
    <Card title={t.history} note={t.historyNote} wide>
      {asked.problem?.status === 403 ? (
        <p class="soft">{t.noPermission}</p>
      ) : asked.problem !== undefined ? (
        <ProblemNote problem={asked.problem} />
      ) : (
        <Shown asked={asked}>{({ entries }) => <AuditTable entries={entries} />}</Shown>
      )}
    </Card>
  )
}

/** A pattern that only this name matches. */
function exactly(name: string): string {
  return name.replaceAll(/[*?[\]\\]/g, '\\$&')
}
