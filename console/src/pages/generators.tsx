/** The generators, in the order of their names, with a search and page by page. */
import { useEffect, useState } from 'preact/hooks'
import { formatLayout } from '../../../src/ids/layout-text.ts'
import { layouts } from '../../../src/ids/presets.ts'
import type { GeneratorPage, Listed } from '../answers.ts'
import { ask, withQuery } from '../api.ts'
import { useLoaded } from '../asking.ts'
import { durationText, rateText } from '../formats.ts'
import { CreateGenerator } from '../forms/generator-forms.tsx'
import { useLive } from '../live.ts'
import { go, linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Input, PageHead, Shown, Table } from '../ui.tsx'

const limit = 50
/** After as many answers the reader goes on by hand. */
const answersMax = 200
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
  const asked = useLoaded(`${match}\n${after}`, (signal) => load(patternOf(match), after, signal))
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

/** As many as a page shows: the node looks at a bounded number of names for each answer, which may have few that match. */
async function load(match: string, after: string | undefined, signal: AbortSignal): Promise<GeneratorPage> {
  const generators: Listed[] = []
  let next: string | null | undefined = after
  for (let turn = 0; turn < answersMax && next !== null && generators.length < limit; turn++) {
    const path = withQuery('/v1/generators', { match, after: next, limit: limit - generators.length })
    const page: GeneratorPage = await ask<GeneratorPage>({ method: 'GET', path }, signal)
    generators.push(...page.generators)
    next = page.next
  }
  return { generators, next: next ?? null }
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
          cell: ({ name }) => durationText(figures?.now.get(name)?.bufferedSeconds),
          numeric: true,
        },
      ]}
    />
  )
}

/** What a generator has that others of its kind do not: what is the default is left out. */
function whatOf({ layout, format, ...options }: Listed['definition']): string {
  const preset = Object.entries(layouts).find(([, each]) => formatLayout(each) === layout)
  const others = Object.entries(options).filter(
    ([name, value]) => Object.hasOwn(defaults, name) && String(value) !== defaults[name],
  )
  return [format, preset?.[0] ?? layout, ...others.map(([name, value]) => `${name} ${value}`)]
    .filter((each) => each !== undefined)
    .join(' · ')
}

const defaults: Readonly<Record<string, string>> = {
  start: '1',
  increment: '1',
  gene: '0',
  max: '9223372036854775807',
  step: '1000',
  within: 'ordered',
  scramble: 'false',
}
