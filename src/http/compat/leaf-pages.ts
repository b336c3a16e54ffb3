/**
 * Leaf's two pages, for users and scripts of Leaf. Leaf holds two segments per tag; a node here has one buffer of ids,
 * which is shown as the first segment, and the second stays empty. After Leaf's columns comes the rate of ids.
 */
import type { FastifyRequest } from 'fastify'
import type { Access } from '../../auth/access.ts'
import { hasCode } from '../../base/errors.ts'
import type { GeneratorInfo, GeneratorInUse, ListedGenerator } from '../../catalogue/catalogue.ts'
import type { Definition } from '../../catalogue/definition.ts'
import { listedParts } from '../../catalogue/generator-lists.ts'
import { type Html, html, page, pageHeaders } from '../console/html.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { anyMethod, type CompatRoute, parameterOf } from './api.ts'
import { localTime } from './leaf-decode.ts'
import { contentTypes } from './spring.ts'

const cacheRows = 1000
/** The time to look at a generator, as the bytes of a reply that take as long. */
const rowWork = 32
/** The same to read a generator, and to find out its namespaces. */
const infoWork = 1024
const dbRows = 100

/** `/cache`: the counters in use here, and the buffer of each; `?from=N` skips the first N. */
export function cacheRoute({ catalogue, server }: IssuingNode): CompatRoute {
  return pageRoute('/cache', async (request) => {
    const from = offsetOf(request)
    const { access } = request
    const shown: GeneratorInUse[] = []
    for (const each of catalogue.inUse()) {
      await server.turns.take(rowWork + access.work)
      if (isCounter(each) && access.reaches(each.name)) shown.push(each)
      if (shown.length > from + cacheRows) break
    }
    const rows = shown.slice(from)
    const next = rows.length > cacheRows ? `/cache?from=${from + cacheRows}` : undefined
    const columns = ['name', 'init', 'next', 'pos', ...['0', '1'].flatMap(segmentColumns), 'rate']
    return table(columns, rows.slice(0, cacheRows).map(cacheRow), next)
  })
}

/** `/db`: all counters, a page at a time; `?after=TAG` continues after that one. */
export function dbRoute({ catalogue, server }: IssuingNode): CompatRoute {
  return pageRoute('/db', async (request) => {
    const after = parameterOf(request, 'after')
    const shown = await firstCounters(request.access, after)
    const infos: (GeneratorInfo | undefined)[] = []
    for (const { name } of shown.slice(0, dbRows)) {
      await server.turns.take(infoWork + server.meters.quotas.work)
      infos.push(await infoIfThere(name))
    }
    const rows = infos.filter((info) => info !== undefined).map(dbRow)
    const last = shown.length > dbRows ? shown[dbRows - 1] : undefined
    const next = last && `/db?after=${encodeURIComponent(last.name)}`
    return table(['tag', 'max', 'step', 'update', 'rate'], rows, next)
  })

  /** More than a page if there are more: the link to the next page must name one that is shown. */
  async function firstCounters(access: Access, after: string | undefined): Promise<ListedGenerator[]> {
    const shown: ListedGenerator[] = []
    for await (const part of listedParts(catalogue, server.turns, { access, after })) {
      shown.push(...part.filter(isCounter))
      if (shown.length > dbRows) break
    }
    return shown
  }

  async function infoIfThere(name: string): Promise<GeneratorInfo | undefined> {
    try {
      return await catalogue.info(name)
    } catch (error) {
      // Dropped since the list was read.
      if (hasCode(error, 'NOGENERATOR')) return undefined
      throw error
    }
  }
}

function pageRoute(path: string, render: (request: FastifyRequest) => Promise<string>): CompatRoute {
  return {
    methods: anyMethod,
    path,
    issues: false,
    access: { command: 'id.list' },
    handler: async (request, reply) =>
      reply
        .headers({ ...pageHeaders(request), 'content-type': contentTypes.html })
        .send(await render(request)),
  }
}

function segmentColumns(segment: string): string[] {
  return [`value${segment}`, `max${segment}`, `step${segment}`]
}

function isCounter({ definition }: { readonly definition: Definition }): boolean {
  return definition.kind === 'segment' || definition.kind === 'sequence'
}

/** Ids in no order have no next and no last one: those cells stay empty, and the volume stays hidden. */
function cacheRow(generator: GeneratorInUse): Html {
  const { increment = 1, step = 0 } = generator.definition
  const { inHand, issued, ratePerSecond } = generator.stats()
  const init = inHand > 0 || issued > 0
  const last = generator.lastIssued()
  const ordered = isOrdered(generator.definition)
  const value = init && last !== undefined ? last + BigInt(increment) : 0n
  const max = init ? value + BigInt(Math.floor(inHand)) * BigInt(increment) : 0n
  const counts = ordered ? [String(value), String(max)] : ['', '']
  const second = ['0', '0', '0']
  const cells = [
    String(init),
    String(inHand >= Math.max(1, step) && init),
    '0',
    ...counts,
    init ? String(step) : '0',
  ]
  return row([generator.name, ...cells, ...second, ordered ? perSecond(ratePerSecond) : ''])
}

/** Only a row of an old service has the time of its last change; the cell of any other counter is empty. */
function dbRow({ name, bound, updatedUs, definition, stats }: GeneratorInfo): Html {
  const rate = stats === undefined || !isOrdered(definition) ? '' : perSecond(stats.ratePerSecond)
  const update = updatedUs === undefined ? '' : timestampText(updatedUs)
  return row([name, bound === undefined ? '' : String(bound), String(definition.step ?? ''), update, rate])
}

function isOrdered({ within, scramble }: Definition): boolean {
  return within === 'ordered' && scramble === false
}

function perSecond(rate: number): string {
  return `${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`
}

function row(cells: readonly string[]): Html {
  return html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`
}

function table(columns: readonly string[], rows: readonly Html[], next: string | undefined): string {
  const further = next === undefined ? html`` : html`<p><a href="${next}">next</a></p>`
  return page(
    'en',
    'Leaf',
    html`<div class="wide"><table>
<thead><tr>${columns.map((column) => html`<th>${column}</th>`)}</tr></thead>
<tbody>
${rows}
</tbody>
</table></div>
${further}`,
  )
}

function offsetOf(request: FastifyRequest): number {
  const text = parameterOf(request, 'from') ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

/** A database's timestamp as Java's `Timestamp` writes it: `2019-09-06 09:35:00.0`, with as many digits as it takes. */
function timestampText(unixUs: number): string {
  const fraction = String(unixUs % 1_000_000).padStart(6, '0')
  return `${localTime(new Date(Math.floor(unixUs / 1000)))}.${fraction.replace(/0{1,5}$/, '')}`
}
