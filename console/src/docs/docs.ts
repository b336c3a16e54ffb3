/**
 * The API reference at `/docs`: Swagger UI, which shows the OpenAPI document of this node and sends requests to it, and the errors.
 *
 * Invariants
 *  1. Credentials are those of the console's tab, or what the reader gives to the viewer, which keeps them in memory.
 *  2. What changes more than an id is drawn or leased is sent only after the reader has confirmed it.
 */
import { errorRegistry } from '../../../src/base/error-texts.ts'
import { language } from '../language.ts'
import { authorization } from '../session.ts'
import { shownTheme, showTheme } from '../theme-choice.ts'
import { docsTexts } from './texts.ts'

/** A request of the viewer, on its way. */
type Sent = { url: string; method?: string; headers: Record<string, string>; credentials?: string }
/** https://swagger.io/docs/open-source-tools/swagger-ui/usage/configuration/ */
declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => unknown

const text = docsTexts[language() === 'zh' ? 'zh' : 'en']

/** An element with its text, or with elements in it. */
function element(
  kind: string,
  of: Readonly<Record<string, string>>,
  ...inside: (Node | string)[]
): HTMLElement {
  const made = document.createElement(kind)
  for (const [name, value] of Object.entries(of)) made.setAttribute(name, value)
  made.append(...inside)
  return made
}

const link = (href: string, label: string) => element('a', { href }, label)

function errorTable(): HTMLElement {
  const row = (kind: 'th' | 'td', cells: readonly (Node | string)[], of = {}) =>
    element('tr', of, ...cells.map((cell) => element(kind, kind === 'th' ? { scope: 'col' } : {}, cell)))
  const rows = Object.entries(errorRegistry).map(([code, { status, retryable, meaning, remedy }]) =>
    row(
      'td',
      [element('code', {}, code), String(status), retryable ? text.yes : text.no, `${meaning} ${remedy}`],
      { id: code },
    ),
  )
  return element(
    'div',
    { class: 'scroll', tabindex: '0' },
    element(
      'table',
      {},
      element('thead', {}, row('th', [text.code, text.status, text.retry, text.meaning])),
      element('tbody', {}, ...rows),
    ),
  )
}

const viewer = element('div', { id: 'viewer' }, element('p', { class: 'soft loading' }, text.loading))

function showFrame(): void {
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en'
  document.title = `${text.title} – Fahao`
  showTheme()
  document.documentElement.classList.toggle('dark-mode', shownTheme() === 'dark')
  const mark = link('/', 'Fahao ')
  mark.className = 'mark'
  mark.append(element('span', { lang: 'zh' }, '发号'))
  const head = element(
    'header',
    { class: 'top' },
    element('div', { class: 'top-row' }, mark),
    element(
      'nav',
      { 'aria-label': text.pages },
      link('/', text.start),
      link('/console', text.console),
      link('#errors', text.errors),
      link('/openapi.json', 'OpenAPI'),
    ),
  )
  const lead = element(
    'section',
    { 'aria-labelledby': 'title' },
    element('h1', { id: 'title' }, text.title),
    element('p', {}, text.lead),
    element('p', { class: 'soft' }, authorization() === undefined ? text.login : text.loggedIn),
  )
  const errors = element(
    'section',
    { 'aria-labelledby': 'errors' },
    element('h2', { id: 'errors' }, text.errors),
    element('p', {}, text.errorsLead),
    errorTable(),
  )
  // The viewer has the main part of the page in it.
  document.getElementById('app')!.append(head, element('div', { class: 'page' }, lead, viewer, errors))
  goToHash()
}

/** The browser has looked for it before it was there. */
function goToHash(): void {
  document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

/** Adds the login of the console's tab, unless the reader has given another one. */
function beforeItIsSent(request: Sent): Sent {
  // No prompt of the browser for a password.
  request.credentials = 'omit'
  const { pathname } = new URL(request.url, location.href)
  // The document itself is asked for without a method.
  const { method = 'GET' } = request
  const isDraw = method === 'POST' && /\/(?:next|range|runs|leases)$/.test(pathname)
  const isGrave = !isDraw && !/^(?:GET|HEAD)$/.test(method)
  if (isGrave && !confirm(text.confirm(`${method} ${decodeURIComponent(pathname)}`)))
    throw new Error(text.notSent)
  const header = authorization()
  if (header !== undefined && !Object.keys(request.headers).some((name) => /^authorization$/i.test(name)))
    request.headers.authorization = header
  return request
}

showFrame()
addEventListener('DOMContentLoaded', () => {
  SwaggerUIBundle({
    url: '/openapi.json',
    domNode: viewer,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    // The line of curl that is shown has no login of the console's tab.
    showMutatedRequest: false,
    requestInterceptor: beforeItIsSent,
    // Nothing is asked of other hosts.
    validatorUrl: null,
    onComplete: goToHash,
  })
})
