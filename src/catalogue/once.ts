/**
 * Draws that are made once for a request: its key, and the ids that it got, are a record.
 *
 * Invariants
 *  1. Nothing is answered to a request with a key before the record that has its ids is durable.
 *  2. There is one record for a key of a user and a generator's name, made by a conditional write, alone or in the commit that
 *     reserves the ids. Each node that finds it answers its ids, with the texts of the first answer. (P1: no id is in two records, as each
 *     draw has ids of its own.)
 *  3. An unknown outcome is settled by a read. While that shows no record, the same value is written again: at most one write of a
 *     key is carried out.
 *
 * The incarnation is no part of the key: an alteration between two requests must not give the second one other ids. The ids of a name
 * are never used again, also after a drop.
 */
import { createHash } from 'node:crypto'
import { secretBytes } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import type { Format, FormatValues } from '../ids/format.ts'
import type { IdText } from '../ids/id-text.ts'
import { max53 } from '../ids/limits.ts'
import { mergedRuns, Run } from '../ids/run.ts'
import { type DrawOptions, unsafe } from '../issuing/issuer.ts'
import { TakenKey } from '../issuing/once.ts'
import type { Definition } from './definition.ts'
import { formatIn } from './definition-formats.ts'
import { formatFor } from './series.ts'
import { readDefinition, writeDefinition } from './stored-generator.ts'

/** A draw with the key of a request, and the user whose key it is. */
export type KeyedRequest = DrawOptions & { readonly key: string; readonly user: string }

/** What was drawn, now or by the first request with the key. `text`: writes the texts of the first answer; undefined: decimal digits. */
export type DrawnOnce = {
  readonly runs: readonly Run[]
  readonly text: IdText | undefined
  readonly isRepeat: boolean
}

/** Runs a draw, which resolves to undefined where another request had the key first. */
export type Charged = (
  draw: (onWait?: () => void) => Promise<DrawnOnce | undefined>,
) => Promise<DrawnOnce | undefined>

/** A generator as such draws use it. */
type Drawn = {
  readonly name: string
  readonly definition: Definition
  readonly formKey: string | undefined
  readonly format: Format | undefined
}

/** How the ids of one request are drawn. */
export type OneDraw = {
  /** What its texts are made of beside ids. */
  readonly values: FormatValues | undefined
  /** Whether `draw` makes the record itself, together with the reserve. */
  readonly commits: boolean
  draw(options: DrawOptions): Promise<Run[]>
}

/** The prefix of the records. */
export const oncePrefix = 'once/'
/** The longest key, in bytes of UTF-8. */
const keyBytesMax = 255
/** The maximum number of ids with a key: their record has to hold them, a number for each if they are in no order. */
const keyedMax = 1000
const askedMax = 200
const triesMax = 10

/** See `Generator.drawOnce`. */
export async function drawOnce(
  { engine }: { readonly engine: Pick<Engine, 'read' | 'write'> },
  generator: Drawn,
  drawing: OneDraw,
  count: number,
  { key, user, ...options }: KeyedRequest,
  charged: Charged = (draw) => draw(),
): Promise<DrawnOnce> {
  const record = recordKey(generator.name, user, key)
  if (count > keyedMax)
    throw new FahaoError(
      'LIMIT',
      `${count} ids are above the limit of ${keyedMax} with a key; ask for fewer at a time`,
    )
  const asked = askedFor(count, options)
  for (let tries = 0; tries < triesMax; tries++) {
    const found = await engine.read(record)
    if (found !== undefined) {
      const answer = repeated(generator.name, found, asked)
      if (options.safe && answer.runs[0]!.first > max53) throw unsafe()
      return answer
    }
    const drawn = await charged((onWait) =>
      first(engine, generator, drawing, record, asked, { ...options, onWait }),
    )
    if (drawn !== undefined) return drawn
  }
  throw new FahaoError('CONFLICT', 'other requests with this key come and go; retry')
}

/** The name of the record of a key. Throws ERR for a key that is none. */
function recordKey(name: string, user: string, key: string): string {
  const bytes = Buffer.byteLength(key)
  if (bytes === 0 || bytes > keyBytesMax || !key.isWellFormed())
    throw new FahaoError(
      'ERR',
      `the key of a request has 1 to ${keyBytesMax} bytes of UTF-8; give another one`,
    )
  const digest = createHash('sha256')
    .update(`${Buffer.byteLength(user)} ${user} ${key}`)
    .digest()
  return `${oncePrefix}${name}/${digest.subarray(0, 24).toString('base64url')}`
}

/** What a request asks for, as a later one is compared with it. */
function askedFor(count: number, { gene, by, at, above }: DrawOptions): string {
  const words = [
    `COUNT ${count}`,
    ...(at === undefined ? [] : [`AT ${at instanceof Date ? at.toISOString() : at}`]),
    ...(above === undefined ? [] : [`ABOVE ${above}`]),
    ...(gene === undefined ? [] : [`GENE ${[gene].flat().join(' ')}`]),
    ...(by === undefined ? [] : [`BY ${JSON.stringify([by].flat())}`]),
  ].join(' ')
  if (words.length <= askedMax) return words
  return `${words.slice(0, askedMax)}… (${createHash('sha256').update(words).digest('base64url')})`
}

/** Draws, and makes the record. Undefined: there is one by now. */
async function first(
  engine: Pick<Engine, 'read' | 'write'>,
  { definition, formKey, format }: Drawn,
  { values, commits, draw }: OneDraw,
  key: string,
  asked: string,
  options: DrawOptions,
): Promise<DrawnOnce | undefined> {
  // No other write has the same value: it tells whose record was found.
  const nonce = Buffer.from(secretBytes(9)).toString('base64url')
  const written = format && { definition: writeDefinition(definition), formKey, values }
  const value = (runs: readonly Run[]) =>
    JSON.stringify({
      asked,
      ids: mergedRuns(runs).map(({ first, stride, count }) =>
        count === 1 ? `${first}` : `${first} ${stride} ${count}`,
      ),
      ...written,
      nonce,
    })
  const answer = (runs: readonly Run[]) => ({ runs, text: format?.texts(values), isRepeat: false })
  if (commits) {
    try {
      return answer(await draw({ ...options, once: { key, value } }))
    } catch (error) {
      if (error instanceof TakenKey) return undefined
      throw error
    }
  }
  const runs = await draw(options)
  return (await isMade(engine, key, value(runs))) ? answer(runs) : undefined
}

/** Makes a record. False: there is one, of another draw or of an earlier try. */
async function isMade(engine: Pick<Engine, 'read' | 'write'>, key: string, value: string): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return (await engine.write(key, value, undefined)) !== undefined
    } catch (error) {
      if (!hasCode(error, 'UNKNOWN') || tries === triesMax) throw error
    }
    const found = await engine.read(key)
    if (found !== undefined) return found.value === value
  }
}

/** The answer of a record. Throws KEYUSED if it is of another request. */
function repeated(name: string, record: StoredRecord, asked: string): DrawnOnce {
  const { asked: first, ids, definition: written, formKey, values } = readOnce(record)
  if (first !== asked)
    throw new FahaoError(
      'KEYUSED',
      `the key stands for a request of ${first}, and this one is of ${asked}; give it a key of its own`,
    )
  const runs = ids.map((text) => {
    const [start, stride = '1', count = '1'] = text.split(' ')
    const run = new Run()
    run.set(BigInt(start!), Number(count), Number(stride))
    return run
  })
  if (written === undefined) return { runs, text: undefined, isRepeat: true }
  const before = readDefinition(JSON.parse(written))
  const format = formatFor(formatIn(before), { name, definition: before, formKey })!
  return { runs, text: format.texts(values), isRepeat: true }
}

/** A record as it was written. */
type Once = {
  readonly asked: string
  readonly ids: readonly string[]
  readonly definition?: string
  readonly formKey?: string
  readonly values?: FormatValues
}

function readOnce({ key, value }: StoredRecord): Once {
  try {
    return JSON.parse(value)
  } catch (cause) {
    throw new FahaoError(
      'ENGINE',
      `the record ${key} cannot be read; remove it, or restore it from a backup`,
      { cause },
    )
  }
}
