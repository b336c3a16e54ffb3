/** `GET /v1/audit`: what was changed or refused, for which user, from where. */
import { z } from 'zod'
import { type AuditEntry, auditEvents } from '../audit/audit-entry.ts'
import { readAuditPage } from '../audit/audit-reading.ts'
import { FahaoError } from '../base/errors.ts'
import { parseDurationMs } from '../base/units.ts'
import { parseMomentUs } from '../ids/moment.ts'
import { wholeNumberSchema } from './argument.ts'
import { httpOperation } from './operation.ts'

const query = z.strictObject({
  user: z.string().max(256).optional().meta({ description: 'only this user' }),
  event: z
    .enum(auditEvents, `must be one of ${auditEvents.join(', ')}`)
    .optional()
    .meta({ description: 'only this event, such as drop or login-failed' }),
  object: z.string().max(256).optional().meta({ description: 'only objects that match this glob pattern' }),
  since: z.string().max(40).optional().meta({
    description: 'only the time from this moment on, such as 2026-11-22T00:00:00Z, or the last 24h',
  }),
  after: z.string().max(80).optional().meta({ description: 'the `next` of the page before' }),
  limit: wholeNumberSchema(1, 1000, 'how many at most (default 100)').optional(),
})

const entryShape = z
  .object({
    time: z.string().meta({ description: 'ISO 8601; of several occurrences the newest' }),
    event: z.string(),
    object: z.string().meta({
      description: 'the generator, user, token or shard; the command of a refused request',
    }),
    user: z.string().meta({ description: 'empty: none, or a name that no user has' }),
    address: z.string().meta({ description: 'the host of the client' }),
    door: z.string().meta({ description: 'resp, http, cli or node' }),
    node: z.string().meta({ description: 'host:pid of the process that wrote it' }),
    count: z.int().meta({ description: 'how many occurrences it stands for' }),
    detail: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

const pageShape = z
  .object({
    entries: z.array(entryShape).meta({ description: 'newest first' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'give it as `after` for the next page; null on the last' }),
  })
  .meta({ id: 'AuditPage' })

/** A page of the audit trail, as an answer. */
export type AuditAnswer = z.output<typeof pageShape>

/** `GET /v1/audit` */
export const auditOperation = httpOperation({
  name: 'http|audit',
  permissions: { 'http|audit': ['admin'] },
  summary: 'Shows the audit trail: changes, logins and refused requests, newest first, page by page.',
  notes:
    'An entry is written within a second. Logins and refused requests that are alike are counted in one entry.',
  query,
  http: {
    id: 'listAudit',
    method: 'GET',
    path: '/v1/audit',
    tag: 'server',
    answer: ['A page.', pageShape],
    errors: ['ERR', 'UNAVAILABLE'],
    example: {
      query: 'event=drop&since=24h',
      answer: {
        entries: [
          {
            time: '2026-11-28T11:10:24.791Z',
            event: 'drop',
            object: 'order',
            user: 'alice',
            address: '10.0.0.7',
            door: 'http',
            node: 'host-1:20414',
            count: 1,
            detail: null,
          },
        ],
        next: null,
      },
    },
  },
  async run({ server: { engine, timeline } }, { since, limit = 100, ...filters }) {
    const sinceUs = since === undefined ? undefined : sinceOf(since, timeline.nowUs())
    const { entries, next } = await readAuditPage(engine, { ...filters, sinceUs, limit })
    return { entries: entries.map(entryJson), next: next ?? null }
  },
})

/** A moment, or a duration before now. */
function sinceOf(text: string, nowUs: number): number {
  if (/^\d+[a-z]+$/.test(text)) return nowUs - parseDurationMs(text) * 1000
  try {
    return parseMomentUs(text, 'since')
  } catch (error) {
    throw new FahaoError('ERR', `${(error as Error).message}; the last day is written 24h`)
  }
}

function entryJson({ timeUs, detail, ...entry }: AuditEntry): AuditAnswer['entries'][number] {
  const { event, object, user, address, door, node, count } = entry
  const time = new Date(Math.floor(timeUs / 1000)).toISOString()
  return { time, event, object, user, address, door, node, count, detail: detail ?? null }
}
