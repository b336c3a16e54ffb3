/** The page at `/`: the first steps with this server, in English and Chinese. */
import { z } from 'zod'
import type { ListedGenerator } from '../../catalogue/catalogue.ts'
import { listedPart } from '../../catalogue/generator-lists.ts'
import { isStrict, type Kind } from '../../issuing/issuer.ts'
import { speaksTls } from '../../listening/listener-tls.ts'
import type { FahaoNode } from '../../node/node.ts'
import { type ApiRoute, pageAnswer, readQuery } from '../api-route.ts'
import { type Html, html, page, pageHeaders } from './html.ts'
import { type LandingText, landingTexts } from './landing-text.ts'
import { PageCache } from './page-cache.ts'
import { curlLogin, originOf, redisCli, shellWord } from './snippets.ts'

type Listed = readonly ListedGenerator[]

/** The generator in the snippets, and the user if a login is needed. */
type Example = { readonly name: string; readonly user: string | undefined }

const shownMax = 12
const query = z.strictObject({ lang: z.enum(['en', 'zh']).optional().meta({ description: 'language' }) })

/** `GET /`. A page is rendered once a second at most while the node's state and what callers without a login may do stay. */
export function landingRoute(node: FahaoNode): ApiRoute {
  const pages = new PageCache()
  return {
    id: 'landing',
    method: 'GET',
    path: '/',
    tag: 'server',
    command: 'open',
    summary: 'A page with the first steps.',
    query,
    answers: { 200: pageAnswer },
    errors: ['ERR'],
    example: {},
    async handler(request, reply) {
      const { lang } = readQuery(query, request)
      const language = lang ?? (/^zh\b/i.test(request.headers['accept-language'] ?? '') ? 'zh' : 'en')
      const origin = originOf(request)
      const { state, reason } = node.health()
      const second = Math.floor(node.timeline.monoUs() / 1_000_000)
      const text = await pages.page(
        [node.access.initial, state, reason, second],
        `${language} ${origin}`,
        async () => {
          const generators = await firstGenerators(node)
          return page(language, 'Fahao 发号', landing(landingTexts[language], node, origin, generators))
        },
      )
      return reply.headers({ ...pageHeaders(request), vary: 'accept-language, origin' }).send(text)
    },
  }
}

/** The first generators that every caller may see; undefined while the engine is away: the page says what is wrong. */
async function firstGenerators({ catalogue, access, server }: FahaoNode): Promise<Listed | undefined> {
  try {
    const { initial } = access
    if (!initial.allows('id.list')) return []
    const { found } = await listedPart(catalogue, server.turns, { access: initial }, shownMax + 1)
    return found
  } catch {
    return undefined
  }
}

function landing(text: LandingText, node: FahaoNode, origin: string, generators: Listed | undefined): Html {
  const { state, reason } = node.health()
  const { name, kind } = exampleOf(generators ?? [])
  const { initial } = node.access
  // A page that needs no login names no user.
  const user = initial.allows('id.next') && initial.reaches(name) ? undefined : 'NAME'
  return html`<h1>Fahao <span lang="zh">发号</span></h1>
<p>${text.lead}</p>
<p>${text.states[state]} ${reason ?? ''} <span class="soft">fahao ${node.server.version} · ${node.engine.name}</span></p>
<nav><a href="/console">/console</a><a href="/docs">/docs</a><a href="/?lang=${text.otherLanguage}" lang="${text.otherLanguage}" hreflang="${text.otherLanguage}">${text.other}</a></nav>
${user === undefined ? '' : html`<p>${text.login}</p>`}
${redisSection(text, node, origin, { name, user })}
<h2>${text.http}</h2>
<pre>${httpLines(origin, { name, user })}</pre>
<h2>${text.library}</h2>
<pre>${libraryLines(name, kind)}</pre>
<h2>${text.generators}</h2>
${generatorSection(text, origin, generators, user)}
<h2>${text.further}</h2>
<ul>
<li><a href="/console">/console</a> — ${text.console}</li>
<li><a href="/docs">/docs</a> — ${text.docs}</li>
<li><a href="/openapi.json">/openapi.json</a> — ${text.openapi}</li>
<li><a href="/metrics">/metrics</a> — ${text.metrics}</li>
<li><a href="/readyz">/readyz</a> — ${text.ready}</li>
</ul>`
}

/** The generator in the snippets: a sequence, because its ids are the easiest to recognise. */
function exampleOf(generators: Listed): { name: string; kind: Kind } {
  const example = generators.find(({ definition }) => definition.kind === 'sequence') ?? generators[0]
  return { name: example?.name ?? 'order', kind: example?.definition.kind ?? 'sequence' }
}

function redisSection(
  text: LandingText,
  { server, config }: FahaoNode,
  origin: string,
  { name, user }: Example,
): Html {
  const { respPort } = server
  if (respPort === undefined) return html``
  const client = redisCli(origin, respPort, speaksTls(config, 'resp'), user)
  const word = shellWord(name)
  return html`<h2>${text.redis}</h2>
<pre>${client} INCR ${word}
${client} ID.NEXT ${word} COUNT 3
${client} ID.INFO ${word}</pre>`
}

function httpLines(origin: string, { name, user }: Example): string {
  const curl = `curl${curlLogin(user)}`
  const url = `${origin}/v1/generators/${encodeURIComponent(name)}`
  return [
    `${curl} -X POST ${shellWord(`${url}/next`)}`,
    `${curl} -X POST -H 'accept: text/plain' ${shellWord(`${url}/next?count=3`)}`,
    `${curl} ${shellWord(url)}`,
  ].join('\n')
}

function libraryLines(name: string, kind: Kind): string {
  return `import { openFahao } from 'fahao'

await using fahao = await openFahao({ engine: 'sqlite:./ids.db' })
const ids = await fahao.open(${JSON.stringify(name)}, { kind: '${kind}' })
console.log(await ids.next())`
}

function generatorSection(
  text: LandingText,
  origin: string,
  generators: Listed | undefined,
  user: string | undefined,
): Html {
  if (generators === undefined) return html`<p>${text.unknown}</p>`
  if (generators.length === 0) {
    const list =
      user === undefined
        ? html`<p>${text.none}</p>`
        : html`<p>${text.private}</p>
<pre>curl${curlLogin(user)} ${origin}/v1/generators</pre>
<p>${text.another}</p>`
    return html`${list}
<pre>${createLine(origin, { name: 'order', user })}</pre>`
  }
  const rows = generators
    .slice(0, shownMax)
    .map(
      ({ name, definition }) =>
        html`<tr><td><a href="/v1/generators/${encodeURIComponent(name)}"><code>${name}</code></a></td><td>${definition.kind}</td><td>${orderOf(text, definition)}</td></tr>`,
    )
  const more =
    generators.length > shownMax
      ? html`<p>${text.more} <a href="/v1/generators">/v1/generators</a></p>`
      : html``
  return html`<div class="wide"><table>
<thead><tr><th scope="col">${text.name}</th><th scope="col">${text.kind}</th><th scope="col">${text.order}</th></tr></thead>
<tbody>
${rows}
</tbody>
</table></div>
${more}
<p>${text.another}</p>
<pre>${createLine(origin, { name: 'my-ids', user })}</pre>`
}

function createLine(origin: string, { name, user }: Example): string {
  return `curl${curlLogin(user)} -X PUT ${origin}/v1/generators/${name} -H 'content-type: application/json' -d '{"kind":"sequence"}'`
}

function orderOf(text: LandingText, { kind, within, scramble }: Listed[number]['definition']): string {
  if (isStrict(kind)) return text.strict
  return within === 'shuffled' || scramble === true ? text.hidden : text.perNode
}
