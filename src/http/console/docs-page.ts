/** The page at `/docs`: every operation with a line to copy, and every error. */
import { z } from 'zod'
import type { Access } from '../../auth/access.ts'
import type { AccessControl } from '../../auth/access-control.ts'
import { errorRegistry } from '../../base/error-texts.ts'
import type { ErrorCode } from '../../base/errors.ts'
import { type ApiRoute, errorsOf, pageAnswer } from '../api-route.ts'
import { type Html, html, page, pageHeaders, prose } from './html.ts'
import { landingTexts } from './landing-text.ts'
import { PageCache } from './page-cache.ts'
import { curlLine, originOf } from './snippets.ts'

const headings: Readonly<Record<ApiRoute['tag'], string>> = {
  ids: 'Ids',
  generators: 'Generators',
  workers: 'Plain worker ids',
  namespaces: 'Namespaces',
  users: 'Users and tokens',
  cluster: 'The cluster',
  engine: 'The engine',
  server: 'The server',
}

/** `GET /docs`. `operations` is asked when the page is. Where requests need a login, the lines to copy have one. */
export function docsRoute(
  { access }: { readonly access: AccessControl },
  operations: () => readonly ApiRoute[],
): ApiRoute {
  const pages = new PageCache()
  return {
    id: 'docs',
    method: 'GET',
    path: '/docs',
    tag: 'server',
    command: 'open',
    summary: 'This interface as a page.',
    answers: { 200: pageAnswer },
    errors: [],
    example: {},
    async handler(request, reply) {
      const origin = originOf(request)
      const { initial } = access
      const text = await pages.page([initial], origin, async () =>
        page('en', 'Fahao: HTTP', docs(operations(), origin, initial)),
      )
      return reply.headers(pageHeaders(request)).send(text)
    },
  }
}

/** `initial`: what a caller without credentials may do. */
function docs(operations: readonly ApiRoute[], origin: string, initial: Access): Html {
  const sections = [...Map.groupBy(operations, ({ tag }) => tag)].map(
    ([tag, group]) =>
      html`<h2 id="${tag}">${headings[tag]}</h2>
${group.map((operation) => section(operation, origin, initial))}`,
  )
  const links = Object.entries(headings).map(([tag, heading]) => html`<a href="#${tag}">${heading}</a>`)
  return html`<h1>Fahao <span lang="zh">发号</span>: HTTP</h1>
<nav><a href="/">start</a>${links}<a href="#errors">Errors</a><a href="/openapi.json">OpenAPI</a></nav>
<p>Ids are strings, because JSON numbers lose digits past 2<sup>53</sup>. Names are percent-encoded. Bodies are JSON. Nothing is issued or changed by GET.</p>
${initial.unrestricted ? '' : html`<p>${landingTexts.en.login} A program sends a <a href="#createToken">token</a> instead: <code>-H 'authorization: Bearer TOKEN'</code>.</p>`}
${sections}
<h2 id="errors">Errors</h2>
<p>Every error is <code>application/problem+json</code> (RFC 9457) with <code>code</code>, <code>detail</code> and <code>retryable</code>. A retryable 503 says in <code>retry-after</code> how many seconds to wait.</p>
<div class="wide"><table>
<thead><tr><th scope="col">code</th><th scope="col">status</th><th scope="col">retry</th><th scope="col">what it means, what to do</th></tr></thead>
<tbody>
${(Object.keys(errorRegistry) as ErrorCode[]).map(errorRow)}
</tbody>
</table></div>`
}

function section(operation: ApiRoute, origin: string, initial: Access): Html {
  const { id, method, path, summary, notes, command } = operation
  const user = command === 'open' || initial.allows(command) ? undefined : 'NAME'
  return html`<section id="${id}">
<h3><span class="method">${method}</span> <code>${path}</code></h3>
<p>${prose(summary)}</p>
${notes === undefined ? html`` : html`<p class="soft">${prose(notes)}</p>`}
<pre>${curlLine(operation, origin, user)}</pre>
${parameters(operation)}
${errors(operation)}
</section>`
}

/** The lists of parameters, by operation: schemas take long to read, and asking for the page needs no login. */
const parameterLists = new WeakMap<ApiRoute, Html>()

/** What the query and the body can hold. */
function parameters(operation: ApiRoute): Html {
  const known = parameterLists.get(operation) ?? parameterList(operation)
  parameterLists.set(operation, known)
  return known
}

function parameterList({ query, body }: ApiRoute): Html {
  const shapes = [query, body].filter((each) => each instanceof z.ZodObject)
  const rows = shapes.flatMap(({ shape }) =>
    Object.entries(shape).map(
      ([name, member]) => html`<li><code>${name}</code>: ${prose(meaningOf(member as z.ZodType))}</li>`,
    ),
  )
  if (rows.length === 0) return html``
  return html`<ul>
${rows}
</ul>`
}

/** The description may stand on the schema or inside of what makes it optional. */
function meaningOf(shape: z.ZodType): string {
  const { description } = z.toJSONSchema(shape, { io: 'input' })
  return description ?? ''
}

function errors(operation: ApiRoute): Html {
  const errors = errorsOf(operation)
  if (errors.length === 0) return html``
  return html`<p class="soft">Errors: ${errors.map((code) => html`<a href="#${code}">${code}</a>`)}</p>`
}

function errorRow(code: ErrorCode): Html {
  const { status, retryable, meaning, remedy } = errorRegistry[code]
  return html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${retryable ? 'yes' : 'no'}</td><td>${prose(`${meaning} ${remedy}`)}</td></tr>`
}
