/** The generators, in the order of their names, with a search and page by page. */
import { useEffect, useState } from 'preact/hooks'
import type { GeneratorPage, Listed } from '../answers.ts'
import { withQuery } from '../api.ts'
import { useAsked } from '../asking.ts'
import { durationText, rateText } from '../formats.ts'
import { CreateGenerator } from '../forms/generator-forms.tsx'
import { useLive } from '../live.ts'
import { go, linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Input, PageHead, Shown, Table } from '../ui.tsx'

const limit = 50
/** How long the reader pauses before what was typed is searched for. */
const pauseMs = 300

/** The page. */
export function GeneratorsPage({ route }: { route: Route }) {
  const match = route.query.get('match') ?? ''
  const after = route.query.get('after')
  const [typed, setTyped] = useState(match)
  useEffect(() => {
    if (typed === match) return
    const timer = setTimeout(() => go(linkTo('generators', [], { match: typed })), pauseMs)
    return () => clearTimeout(timer)
  }, [typed, match])
  const path = withQuery('/v1/generators', { match: patternOf(match), after, limit })
  const asked = useAsked<GeneratorPage>(path)
  return (
    <>
      <PageHead title={t.nav.generators}>
        <CreateGenerator />
      </PageHead>
      <div class="search">
        <Input label={t.search} value={typed} onValue={setTyped} hint={t.searchHint} />
      </div>
      <Shown asked={asked}>
        {({ generators, next }) => (
          <>
            <List generators={generators} />
            <nav class="pager" aria-label={t.paging}>
              {after !== undefined && <a href={linkTo('generators', [], { match })}>{t.firstPage}</a>}
              {next !== null && <a href={linkTo('generators', [], { match, after: next })}>{t.nextPage}</a>}
            </nav>
          </>
        )}
      </Shown>
    </>
  )
}

/** What is typed without a pattern's characters is looked for anywhere in a name. */
export function patternOf(typed: string): string {
  return typed === '' || /[*?[]/.test(typed) ? typed : `*${typed}*`
}

function List({ generators }: { generators: readonly Listed[] }) {
  const { figures } = useLive()
  return (
    <Table
      caption={t.nav.generators}
      rows={generators}
      keyOf={({ name }) => name}
      empty={t.noGenerators}
      columns={[
        { head: t.name, cell: ({ name }) => <a href={linkTo('generators', [name])}>{name}</a> },
        { head: t.kind, cell: ({ kind }) => kind },
        { head: t.what, cell: ({ definition }) => whatOf(definition) },
        { head: t.perSecond, cell: ({ name }) => rateText(figures?.rate(name)), numeric: true },
        {
          head: t.lasts,
          cell: ({ name }) => durationText(figures?.tick?.generators[name]?.bufferedSeconds),
          numeric: true,
        },
      ]}
    />
  )
}

/** What tells generators of a kind apart. */
function whatOf({ format, layout, increment, step }: Listed['definition']): string {
  if (layout !== undefined) return String(layout)
  return [
    format,
    increment === 1 ? undefined : `+${increment}`,
    step === undefined ? undefined : `step ${step}`,
  ]
    .filter((each) => each !== undefined)
    .join(' · ')
}
