/** The frame around each page: navigation, the state of the node, language, colours, the login. */
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import type { Health } from './answers.ts'
import { ask, type Problem } from './api.ts'
import { useAsked } from './asking.ts'
import { language, languages } from './language.ts'
import { Login } from './login.tsx'
import { AdvicePage } from './pages/advice.tsx'
import { AuditPage } from './pages/audit.tsx'
import { ClusterPage } from './pages/cluster.tsx'
import { DecodePage } from './pages/decode.tsx'
import { GeneratorPage } from './pages/generator.tsx'
import { GeneratorsPage } from './pages/generators.tsx'
import { LeasesPage } from './pages/leases.tsx'
import { NamespacesPage } from './pages/namespaces.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { StartPage } from './pages/start.tsx'
import { UsersPage } from './pages/users.tsx'
import { linkTo, type Route, useRoute } from './route.ts'
import { authorization, keepAuthorization, onAuthorization } from './session.ts'
import { setLanguage, t } from './texts.ts'
import { chooseTheme } from './theme.ts'
import { chosenTheme, type Theme, themes } from './theme-choice.ts'
import { Badge, ProblemNote, Select, type Tone } from './ui.tsx'

const pages = {
  '': OverviewPage,
  generators: GeneratorsPage,
  cluster: ClusterPage,
  leases: LeasesPage,
  namespaces: NamespacesPage,
  users: UsersPage,
  audit: AuditPage,
  advice: AdvicePage,
  decode: DecodePage,
  start: StartPage,
} as const
type PageName = keyof typeof pages

/** The whole console. */
export function App() {
  const [, redraw] = useState(0)
  const caller = useCaller()
  const route = useRoute()
  const name = Object.hasOwn(pages, route.page) ? (route.page as PageName) : ''
  const change = (act: () => void) => {
    act()
    redraw((last) => last + 1)
  }
  useEffect(() => {
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [name, caller.user])
  useEffect(() => {
    document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en'
    document.title = `${t.nav[name]} – Fahao`
  })
  return (
    <>
      <button type="button" class="skip" onClick={focusMain}>
        {t.skip}
      </button>
      <Head current={name} user={caller.user} change={change} />
      <main id="main" tabIndex={-1}>
        {caller.user !== undefined ? (
          <Boundary key={`${language()} ${route.page}`} route={route} name={name} />
        ) : caller.needsLogin ? (
          <Login ended={caller.ended === true} />
        ) : (
          <>
            <ProblemNote problem={caller.problem} />
            {caller.problem === undefined && <p class="soft loading">{t.loading}</p>}
          </>
        )}
      </main>
      <footer class="foot soft">
        <p>{t.timeZone(Intl.DateTimeFormat().resolvedOptions().timeZone)}</p>
      </footer>
    </>
  )
}

function focusMain(): void {
  document.getElementById('main')!.focus()
}

/** A page; a fault of it is told, and the rest of the console works. */
function Boundary({ route, name }: { route: Route; name: PageName }) {
  const [error, reset] = useErrorBoundary()
  if (error)
    return (
      <div class="problem" role="alert">
        <p>{t.pageFault(String(error))}</p>
        <button type="button" onClick={reset}>
          {t.again}
        </button>
      </div>
    )
  if (name === 'generators' && route.rest[0] !== undefined && route.rest[0] !== '')
    return <GeneratorPage key={route.rest[0]} name={route.rest[0]} />
  const Page = pages[name]
  return <Page route={route} />
}

type CallerState = {
  readonly user?: string
  readonly needsLogin?: boolean
  /** There was a login, and the node refuses it now. */
  readonly ended?: boolean
  readonly problem?: Problem
}

/** Who the node takes the reader for; asked at the start and after each change of the login. */
function useCaller(): CallerState {
  const [state, setState] = useState<CallerState>({})
  useEffect(() => {
    let turn = 0
    const look = async (ended = false) => {
      const mine = ++turn
      const next = await ask<{ user: string }>({ method: 'GET', path: '/v1/whoami' }).then(
        ({ user }): CallerState => ({ user }),
        (problem: Problem): CallerState =>
          problem.status === 401 ? { needsLogin: true, ended } : { problem },
      )
      if (mine === turn) setState(next)
    }
    void look()
    return onAuthorization((refused) => void look(refused))
  }, [])
  return state
}

function Head(props: { current: PageName; user: string | undefined; change: (act: () => void) => void }) {
  const { current, user, change } = props
  return (
    <header class="top">
      <div class="top-row">
        <a class="mark" href={linkTo('')}>
          Fahao <span lang="zh">发号</span>
        </a>
        {user !== undefined && <NodeState />}
        <div class="top-end">
          {user !== undefined && authorization() !== undefined && (
            <>
              <span class="soft user">{user}</span>
              <button type="button" class="quiet" onClick={() => keepAuthorization(undefined)}>
                {t.logOut}
              </button>
            </>
          )}
          <Select
            label={t.colours}
            hidden
            value={chosenTheme()}
            onValue={(theme) => change(() => chooseTheme(theme as Theme))}
            options={themes.map((theme) => [theme, t.themes[theme]])}
          />
          <Select
            label={t.language}
            hidden
            value={language()}
            onValue={(chosen) => change(() => setLanguage(chosen))}
            options={Object.entries(languages)}
          />
        </div>
      </div>
      {user !== undefined && (
        <nav aria-label={t.pages}>
          {Object.keys(pages).map((page) => (
            <a href={linkTo(page)} aria-current={page === current ? 'page' : undefined}>
              {t.nav[page as PageName]}
            </a>
          ))}
          <a href="/docs">{t.apiReference}</a>
        </nav>
      )}
    </header>
  )
}

const tones: Readonly<Record<Health['state'], Tone>> = {
  ok: 'good',
  degraded: 'warn',
  down: 'bad',
  stopping: 'warn',
}

/** Whether the node should get requests; 503 is an answer here. */
function NodeState() {
  const { answer, problem } = useAsked<Health>('/healthz', 5000)
  if (answer === undefined) return problem === undefined ? null : <Badge tone="bad">{t.states.away}</Badge>
  return (
    <span class="node-state">
      <Badge tone={problem === undefined ? tones[answer.state] : 'bad'}>
        {problem === undefined ? t.states[answer.state] : t.states.away}
      </Badge>
      {answer.reason && <span class="soft reason">{answer.reason}</span>}
    </span>
  )
}
