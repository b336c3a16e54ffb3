/** Ledgers: numbers are reserved, confirmed, cancelled or voided, accounted for, and closed. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { demandPermission } from '../auth/access.ts'
import { FahaoError } from '../base/errors.ts'
import { parseDurationMs } from '../base/units.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import type { Reserved } from '../issuing/ledger/ledger-lines.ts'
import { exported, type LedgerEntry, noHash } from '../issuing/ledger/ledger-reading.ts'
import type { Close } from '../issuing/ledger/ledger-records.ts'
import { checkText, textMax } from '../issuing/ledger/line.ts'
import { count, flag, integer, key, optional, text } from './argument.ts'
import type { OperationContext } from './context.ts'
import { existing } from './drawing.ts'
import { operation } from './operation.ts'

/** The most numbers of one reservation, and lines of one page. */
const reserveMax = 100
const linesMax = 1000
const linesDefault = 100
const holdMaxMs = 86_400_000

const path = '/v1/generators/{name}'
const ofReservation = `${path}/reservations/{reservation}`
const errors = [
  'ERR',
  'WRONGTYPE',
  'NOGENERATOR',
  'DRY',
  'BUSY',
  'CONFLICT',
  'STALE',
  'NOTOWNER',
  'REGRESSED',
  'UNAVAILABLE',
  'UNKNOWN',
  'SHUTDOWN',
] as const
const name = key('name')
const reservation = text('reservation', '', 80)
const issuing = { permission: 'issue', effect: 'write' } as const
const example = '7.mM4bDPbYAJ1Vb8rC'

const reservedShape = z
  .object({
    reservations: z.array(
      z.object({
        number: z.string().meta({ description: 'as it is written, by the generator’s format' }),
        id: z.string().meta({ description: 'the number without format' }),
        reservation: z.string().meta({ description: 'confirms or cancels it; a secret of the caller' }),
      }),
    ),
  })
  .meta({ id: 'Reservations' })

const reserve = operation({
  ...issuing,
  name: 'id.reserve',
  summary: 'Reserves a number of a ledger.',
  args: {
    name,
    count: optional(count('COUNT n', reserveMax, 'how many (default 1)')),
    ref: optional(text('REF text', 'what the number is for, as the ledger shows it', textMax)),
    hold: optional(
      text('HOLD time', 'for how long it is held: 1ms to 24h (default: as the generator says)', 40),
    ),
    key: optional(text('KEY key', 'the same key reserves the same number, for a day at least', 256, 1)),
  },
  reply: 'An array: the number, in the format of the generator, and its reservation; with COUNT of each.',
  notes:
    'Use the number once it is confirmed, and not before. Numbers whose hold has ended or that were cancelled are reserved first, the lowest first. {hold} is a duration such as 30s, counted by the node that keeps the ledger, and anew after another one has taken over. {key}: a request that is repeated gets the same number as long as it is held or confirmed; keys of other users are others.',
  http: {
    id: 'reserveNumber',
    method: 'POST',
    path: `${path}/reservations`,
    tag: 'ids',
    answer: ['The numbers.', reservedShape],
    status: 201,
    errors: [...errors, 'LIMIT', 'QUOTA', 'EXHAUSTED'],
    example: {
      name: 'invoice',
      query: 'ref=doc-17&hold=30s',
      answer: { reservations: [{ number: '7', id: '7', reservation: example }] },
    },
  },
  async run({ catalogue, caller }: OperationContext, { name, count = 1, ref, hold, key }) {
    const by = caller.access.user
    const generator = await existing(catalogue, name)
    const request = {
      count,
      by,
      ref: ref === undefined ? undefined : checkText('REF', ref),
      holdMs: hold === undefined ? undefined : holdMsOf(hold),
      key: key === undefined ? undefined : hashOf(by, key),
      signal: caller.signal,
    }
    const reserved = await generator.ledger((ledger, onWait) => ledger.reserve({ ...request, onWait }), count)
    const reservations = reserved.map(({ number, secret }) => ({
      number: generator.text(number),
      id: String(number),
      reservation: `${number}.${secret}`,
    }))
    return { reservations }
  },
  replied: ({ reservations }) => reservations.flatMap(({ number, reservation }) => [number, reservation]),
})

const confirm = operation({
  ...issuing,
  name: 'id.confirm',
  summary: 'Confirms a reservation: the number is used.',
  args: { name, reservation },
  reply: '`OK`, also if it is confirmed already.',
  notes:
    'Confirm as the last step before the transaction commits that uses the number. `LAPSED` where the reservation does not hold any more: roll the transaction back. If the transaction fails to commit, void the number.',
  http: {
    id: 'confirmNumber',
    method: 'POST',
    path: `${ofReservation}/confirm`,
    tag: 'ids',
    answer: ['It is confirmed.'],
    errors: [...errors, 'LAPSED'],
    example: { name: 'invoice', lease: example },
  },
  async run(context: OperationContext, { name, reservation }) {
    const asked = readReservation(reservation)
    const by = context.caller.access.user
    await (await ledgerOf(context, name)).ledger((ledger) => ledger.confirm(asked, by))
  },
  replied: 'OK',
})

const cancel = operation({
  ...issuing,
  name: 'id.cancel',
  summary: 'Gives a reserved number back: it is reserved again next.',
  args: { name, reservation },
  reply: '`OK`, also if the reservation has ended already.',
  notes: 'A number that is confirmed cannot be cancelled: void it.',
  http: {
    id: 'cancelNumber',
    method: 'POST',
    path: `${ofReservation}/cancel`,
    tag: 'ids',
    answer: ['The reservation has ended.'],
    errors,
    example: { name: 'invoice', lease: example },
  },
  async run(context: OperationContext, { name, reservation }) {
    const asked = readReservation(reservation)
    const by = context.caller.access.user
    await (await ledgerOf(context, name)).ledger((ledger) => ledger.cancel(asked, by))
  },
  replied: 'OK',
})

const voidNumber = operation({
  ...issuing,
  name: 'id.void',
  change: 'void',
  summary: 'Declares a number void: it is never used, and the ledger keeps the reason.',
  args: {
    name,
    reservation: text('reservation', '', 80),
    reason: text('reason', 'why it is not used', textMax, 1),
  },
  reply: '`OK`, also if it is void already.',
  notes:
    'Takes a reservation, whether it is held, has lapsed or is confirmed, unless the number has gone to another caller (`LAPSED`). It takes a number, without format, from a user that may close the ledger too (permission `id.close`). Numbers of a closed part do not change any more.',
  http: {
    id: 'voidNumber',
    method: 'POST',
    path: `${ofReservation}/void`,
    tag: 'ids',
    answer: ['It is void.'],
    errors: [...errors, 'LAPSED', 'NOPERM'],
    example: { name: 'invoice', lease: example, query: 'reason=the%20transaction%20failed' },
  },
  async run(context: OperationContext, { name, reservation, reason }) {
    const why = checkText('the reason', reason)
    const { access } = context.caller
    const isNumber = /^\d{1,19}$/.test(reservation)
    if (isNumber) demandPermission(access, 'id.close', name)
    const asked = isNumber ? { number: BigInt(reservation) } : readReservation(reservation)
    const { number, secret } = { secret: undefined, ...asked }
    await (await ledgerOf(context, name)).ledger((ledger) => ledger.void(number, secret, why, access.user))
  },
  replied: 'OK',
})

const closeShape = z
  .object({
    through: z.string().meta({ description: 'the last number that is closed' }),
    numbers: z.string().meta({ description: 'how many numbers this close accounts for' }),
    previous: z.string().meta({ description: 'the hash that its first line continues' }),
    hash: z.string().meta({ description: 'SHA-256 of its last line, chained to all lines before' }),
    when: z.string(),
    by: z.string(),
  })
  .meta({ id: 'LedgerClose' })

const lineShape = z.object({
  number: z.string().meta({ description: 'without format' }),
  to: z.string().optional().meta({ description: 'of several in a row: the last one' }),
  text: z.string().optional().meta({ description: 'as it is written, by the generator’s format' }),
  state: z.enum(['held', 'free', 'confirmed', 'void', 'unknown']),
  ref: z.string().optional(),
  when: z.string().meta({ description: 'of its last change, ISO 8601' }),
  by: z.string().meta({ description: 'the user; empty: the node' }),
  why: z.string().optional(),
  until: z.string().optional().meta({ description: 'of a held number: when its hold ends, about' }),
})

const ledgerShape = z
  .object({
    first: z.string().nullable().meta({ description: 'the first number that it accounts for' }),
    lines: z.array(lineShape),
    next: z
      .string()
      .nullable()
      .meta({ description: 'give it as `from` for the next page; null on the last' }),
    closed: closeShape.nullable().meta({ description: 'the newest close' }),
    removed: closeShape.nullable().meta({ description: 'the close up to which lines were removed' }),
  })
  .meta({ id: 'Ledger' })

/** A page of a ledger. */
export type LedgerPage = z.output<typeof ledgerShape>

const firstHash = 'f6c8a2…'
const closedExample = {
  through: '7',
  numbers: '7',
  previous: noHash,
  hash: firstHash,
  when: '2026-12-31T23:00:00.000Z',
  by: 'books',
}

const show = operation({
  permission: 'read',
  effect: 'readonly',
  name: 'id.ledger',
  summary: 'Accounts for the numbers of a ledger: what has become of each.',
  args: {
    name,
    from: optional(integer('FROM n', 'the first number (default: the first of all)')),
    count: optional(
      count('COUNT n', linesMax, `how many lines at most, 1 to ${linesMax} (default ${linesDefault})`),
    ),
  },
  reply:
    'A map: first, lines (an array of maps: number, to, text, state, ref, when, by, why, until), next, closed, removed (maps: through, numbers, previous, hash, when, by; or nil).',
  notes:
    'States: `held` until it is confirmed, cancelled or lapses; `free`: cancelled or lapsed, and reserved next; `confirmed`; `void`; `unknown`: the store forgot. Numbers in a row with one fate are one line, with `to`. For the next page give `next` as {from}.',
  http: {
    id: 'getLedger',
    method: 'GET',
    path: `${path}/ledger`,
    tag: 'ids',
    answer: ['A page of lines.', ledgerShape],
    errors,
    example: {
      name: 'invoice',
      query: 'from=7&count=1',
      answer: {
        first: '1',
        lines: [
          {
            number: '7',
            text: '7',
            state: 'confirmed',
            ref: 'doc-17',
            when: '2026-11-28T18:00:00.000Z',
            by: 'shop',
          },
        ],
        next: null,
        closed: null,
        removed: null,
      },
    },
  },
  async run(context: OperationContext, { name, from = 0n, count = linesDefault }): Promise<LedgerPage> {
    const generator = await ledgerOf(context, name)
    const nowMs = context.server.timeline.nowUs() / 1000
    return generator.ledger(async (ledger) => {
      const { head, entries, more } = await ledger.read(from, count)
      const leftMs = ({ state, secret }: LedgerEntry) =>
        state === 'held' ? ledger.holdLeftMs(secret!) : undefined
      return {
        first: head === undefined ? null : String(head.first),
        lines: entries.map((entry) => shown(generator, entry, leftMs(entry), nowMs)),
        next: more ? String(entries.at(-1)!.to + 1n) : null,
        closed: shownClose(head?.closed),
        removed: shownClose(head?.removed),
      }
    })
  },
})

const close = operation({
  permission: 'manage',
  effect: 'write',
  name: 'id.close',
  change: 'ledger-close',
  summary: 'Closes a ledger up to now: its lines never change again.',
  args: {
    name,
    remove: flag('REMOVE', 'removes the lines of all that is closed from the store, and closes nothing'),
  },
  reply: 'A map: through, numbers, previous, hash, when, by; nil where there was never anything to close.',
  notes:
    '`CONFLICT` while a number is held. Numbers that are free become void. The hash of the last line contains those of all lines before: an export (`fahao ledger`) is checked against it. Where there is nothing to close, the answer is the newest close. {remove}: after a close, once its lines are exported; the record of each close stays.',
  http: {
    id: 'closeLedger',
    method: 'POST',
    path: `${path}/ledger/close`,
    tag: 'ids',
    answer: ['The newest close.', closeShape],
    none: (name) =>
      new FahaoError('ERR', `the ledger of '${name}' has no numbers yet; there is nothing to close`),
    errors,
    example: { name: 'invoice', answer: closedExample },
  },
  async run(context: OperationContext, { name, remove }) {
    const generator = await ledgerOf(context, name)
    const by = context.caller.access.user
    const closed = await generator.ledger((ledger) =>
      remove ? ledger.removeClosed(by) : ledger.closePeriod(by),
    )
    return shownClose(closed) ?? undefined
  },
  replied: (closed) => closed ?? null,
})

/** All of them. */
export const ledgerOperations = [reserve, confirm, cancel, voidNumber, show, close] as const

function ledgerOf({ catalogue }: OperationContext, name: string): Promise<Generator> {
  return existing(catalogue, name)
}

function holdMsOf(text: string): number {
  const ms = parseDurationMs(text)
  if (ms >= 1 && ms <= holdMaxMs) return ms
  throw new FahaoError('ERR', 'HOLD must be 1ms to 24h, such as 30s')
}

function hashOf(user: string, key: string): string {
  return createHash('sha256').update(`${user}\n${key}`).digest('base64url').slice(0, 22)
}

/** Reads a reservation. Throws ERR for any other text. */
function readReservation(text: string): Reserved {
  const parts = /^(\d{1,19})\.([\w-]{16})$/.exec(text)
  if (parts === null)
    throw new FahaoError(
      'ERR',
      `'${text.slice(0, 40)}' is no reservation; give one as ID.RESERVE has replied it`,
    )
  return { number: BigInt(parts[1]!), secret: parts[2]! }
}

function shown(
  generator: Generator,
  entry: LedgerEntry,
  leftMs: number | undefined,
  nowMs: number,
): LedgerPage['lines'][number] {
  const line = exported(entry)
  const text = entry.to === entry.from ? generator.text(entry.from) : undefined
  return {
    ...line,
    ...(text !== undefined && { text }),
    ...(entry.state === 'held' && leftMs === undefined && { state: 'free' as const }),
    ...(leftMs !== undefined && { until: new Date(nowMs + leftMs).toISOString() }),
  }
}

function shownClose(close: Close | undefined): z.output<typeof closeShape> | null {
  if (close === undefined) return null
  const { through, numbers, previous, hash, atMs, by } = close
  const when = new Date(atMs).toISOString()
  return { through: String(through), numbers: String(numbers), previous, hash, when, by }
}
