/** What to set: how long the ids of each generator in use last without the store, now and at the highest rate so far. */
import { useState } from 'preact/hooks'
import { parseDurationMs } from '../../../src/base/units.ts'
import { adviseInUse, type InUse } from '../../../src/cli/advice.ts'
import type { Generator } from '../answers.ts'
import { useDetails } from '../details.ts'
import { durationText, momentText, rateText } from '../formats.ts'
import { useLive } from '../live.ts'
import { linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Card, Input, PageHead, ProblemNote, Table } from '../ui.tsx'

/** The page. */
export function AdvicePage(_: { route: Route }) {
  const [goal, setGoal] = useState('10m')
  const { figures, problem } = useLive()
  const names = figures === undefined ? [] : [...figures.generators.keys()]
  const { answer, problem: refused } = useDetails(names)
  const goalSeconds = secondsOf(goal)
  const inUse = (answer?.generators ?? [])
    .flatMap((generator) => {
      const advice = adviseInUse(generator, goalSeconds ?? 0)
      return advice === undefined ? [] : [{ ...advice, mode: generator.mode }]
    })
    .sort((left, right) => (left.secondsAtPeak ?? Infinity) - (right.secondsAtPeak ?? Infinity))
  return (
    <>
      <PageHead title={t.nav.advice} lead={t.adviceLead} />
      {problem?.status !== 404 && <ProblemNote problem={problem} />}
      <ProblemNote problem={refused} />
      <div class="search">
        <Input
          label={t.adviceGoal}
          value={goal}
          onValue={setGoal}
          hint={goalSeconds === undefined ? t.adviceGoalBad : t.adviceGoalHint}
        />
      </div>
      <Card {...(answer?.more ? { note: t.adviceMore(answer.generators.length) } : {})}>
        <Table
          caption={t.nav.advice}
          rows={inUse}
          keyOf={({ name }) => name}
          empty={answer === undefined ? t.loading : t.noneInUse}
          columns={[
            { head: t.name, cell: ({ name }) => <a href={linkTo('generators', [name])}>{name}</a> },
            { head: t.kind, cell: ({ kind }) => kind },
            { head: t.perSecond, cell: ({ ratePerSecond }) => rateText(ratePerSecond), numeric: true },
            { head: t.lasts, cell: ({ seconds }) => durationText(seconds), numeric: true },
            { head: t.peak, cell: ({ peakPerSecond }) => rateText(peakPerSecond || null), numeric: true },
            { head: t.lastsAtPeak, cell: ({ secondsAtPeak }) => durationText(secondsAtPeak), numeric: true },
            {
              head: t.ends,
              cell: ({ exhaustedAt }) => (exhaustedAt === null ? '–' : momentText(exhaustedAt)),
              numeric: true,
            },
            { head: t.toSet, cell: (advice) => <ToSet advice={advice} goalSeconds={goalSeconds ?? 0} /> },
          ]}
        />
      </Card>
    </>
  )
}

function ToSet({ advice, goalSeconds }: { advice: InUse & Pick<Generator, 'mode'>; goalSeconds: number }) {
  const { set, exhaustedAt, secondsAtPeak, mode } = advice
  if (exhaustedAt !== null && Date.parse(exhaustedAt) <= Date.now())
    return <Badge tone="bad">{t.ended}</Badge>
  if (set !== '') return <code>{set}</code>
  if (mode === 'leader' && (secondsAtPeak ?? goalSeconds) < goalSeconds) return <Badge>{t.asLongAsLed}</Badge>
  return secondsAtPeak === null ? <Badge>{t.notInUse}</Badge> : <Badge tone="good">{t.enough}</Badge>
}

/** A duration such as `10m` in seconds; undefined: it is none. */
function secondsOf(duration: string): number | undefined {
  try {
    return parseDurationMs(duration) / 1000
  } catch {
    return undefined
  }
}
