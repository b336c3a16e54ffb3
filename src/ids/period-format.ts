/**
 * Formats of generators with periods. A text follows from the raw id alone: `{id}` shows the number in its period, `{date:…}`
 * the first day of the period and `{end:…}` the last one, by the calendar of its zone. Whatever the clock said, no text shows
 * another day than its id does.
 *
 * Invariants
 *  1. What the dates show names the period: no two periods have the same text. That is tried at creation for periods of six
 *     years, and for each period before its first text is written.
 *  2. `#fromId`, `#untilId`, `#values` and `#ordinal` are of one period.
 */
import { FahaoError } from '../base/errors.ts'
import type { Format, TextColumn } from './any-format.ts'
import { type DateToken, type FormatValues, notOfFormat, type Shown } from './format-part.ts'
import type { IdText, TextFrame } from './id-text.ts'
import { mondayOf } from './iso-week.ts'
import { labelDigits, type Periods, type PeriodUnit } from './period.ts'
import { Run } from './run.ts'
import { shortened } from './shortened.ts'
import type { Template } from './template.ts'

/** What names a period. */
const naming: Readonly<Record<PeriodUnit, string>> = {
  hour: 'yyyyMMddHH',
  day: 'yyyyMMdd',
  week: 'YYYYww',
  month: 'yyyyMM',
  quarter: 'yyyyQ',
  year: 'yyyy',
}

/** From one period that is tried to the next: prime to the hours of a day and the days of a week. */
const strides: Readonly<Record<PeriodUnit, number>> = {
  hour: 199,
  day: 11,
  week: 1,
  month: 1,
  quarter: 1,
  year: 1,
}
const [triedFrom, triedTo] = ['2023-06-01T00:00:00Z', '2029-06-01T00:00:00Z']
const weekMs = 7 * 86_400_000

/** A format around the number in a period. */
export class PeriodFormat implements Format {
  readonly template: string
  readonly needsNode: boolean
  readonly needsTime = false
  readonly needsKey = false
  readonly shows: Shown | undefined
  readonly maxId: bigint
  readonly mixesCases: boolean
  readonly ambiguousZone = undefined
  readonly #inner: Template
  readonly #periods: Periods
  readonly #sortsLikeIds: boolean
  #ordinal = -1
  #fromId = 0n
  #untilId = 0n
  #values: FormatValues = {}

  /**
   * `inner` shows numbers, and the local time of periods as UTC. Throws ERR for one whose texts do not tell periods; `like` tells them,
   * and differs in the name that it shows.
   */
  constructor(inner: Template, periods: Periods, like?: PeriodFormat) {
    this.template = inner.template
    this.needsNode = inner.needsNode
    this.shows = inner.shows
    this.mixesCases = inner.mixesCases
    this.#inner = inner
    this.#periods = periods
    this.maxId = 10n ** BigInt(labelDigits[periods.unit] + periods.width) - 1n
    if (inner.maxId < periods.size - 1n)
      throw refused(
        `its numbers end at ${inner.maxId}, and width ${periods.width} goes further; write {id:${periods.width}+}, or give a smaller width`,
      )
    if (like !== undefined) {
      this.#sortsLikeIds = like.#sortsLikeIds
      return
    }
    const tried = this.#tried()
    const wrong = tried.find((ordinal) => this.#ordinalIn(this.#textsOf(ordinal)) !== ordinal)
    if (wrong !== undefined)
      throw refused(
        `two periods would have the same text, since it does not tell the ${periods.unit}; show {date:${naming[periods.unit]}}`,
      )
    const [last, first] = [periods.size - 1n, 0n]
    // Whatever name it shows, that is the same in all texts.
    const shown = inner.named('-')
    this.#sortsLikeIds =
      shown.sortsBehindDates &&
      tried.every(
        (ordinal) =>
          shown.throughId(last, this.#valuesOf(ordinal)) <
          shown.throughId(first, this.#valuesOf(ordinal + 1)),
      )
  }

  format(id: bigint, values: FormatValues = {}): string {
    this.#turn(id)
    return this.#inner.format(id - this.#fromId, { ...values, ...this.#values })
  }

  smallest(id: bigint): string | undefined {
    if (!this.#sortsLikeIds || this.#periods.split(id) === undefined) return undefined
    this.#turn(id)
    return this.#inner.smallestWith(id - this.#fromId, this.#values)
  }

  bytes(): undefined {}

  withKey(): this {
    return this
  }

  named(text: string): PeriodFormat {
    return new PeriodFormat(this.#inner.named(text), this.#periods, this)
  }

  texts(values: FormatValues = {}): IdText {
    return new PeriodTexts(this.#periods, (id) => {
      this.#turn(id)
      return this.#inner.texts({ ...values, ...this.#values })
    })
  }

  parse(text: string): bigint {
    const { id: number, dates } = this.#inner.read(text)
    const ordinal = this.#ordinalIn(dates)
    if (ordinal === undefined)
      throw notOfFormat(`'${shortened(text)}' shows no ${this.#periods.unit} that there is`)
    if (number < this.#periods.size) return this.#periods.firstId(ordinal) + number
    throw notOfFormat(`number ${number} has more than the ${this.#periods.width} digits of its width`)
  }

  column(): TextColumn {
    return { ...this.#inner.column(this.#periods.size - 1n), sortsLikeIds: this.#sortsLikeIds }
  }

  /** Makes the period of an id the one that is shown. */
  #turn(id: bigint): void {
    if (id >= this.#fromId && id < this.#untilId) return
    const found = this.#periods.split(id)
    if (found === undefined)
      throw new FahaoError('ERR', `id ${id} is of no ${this.#periods.unit}; check the id and its generator`)
    const { ordinal } = found
    if (this.#ordinalIn(this.#textsOf(ordinal)) !== ordinal)
      throw new FahaoError(
        'EXHAUSTED',
        `the format '${this.template}' does not tell ${this.#periods.unit} ${found.label} from others: yy stands for 2000 to 2099; alter it to show yyyy`,
      )
    this.#ordinal = ordinal
    this.#fromId = this.#periods.firstId(ordinal)
    this.#untilId = this.#periods.endId(ordinal)
    this.#values = this.#valuesOf(this.#ordinal)
  }

  #valuesOf(ordinal: number): FormatValues {
    const [startMs, endMs] = [this.#periods.wallMs(ordinal), this.#periods.wallMs(ordinal + 1)]
    return { unixUs: startMs * 1000, endUs: endMs * 1000 - 1 }
  }

  /** What the dates show of a period. */
  #textsOf(ordinal: number): string[] {
    const values = this.#valuesOf(ordinal)
    return this.#inner.dates.map((date) => date.write(0n, values))
  }

  /** The period that dates show; undefined: none. */
  #ordinalIn(texts: readonly string[]): number | undefined {
    const shown = (isEnd: boolean) =>
      this.#inner.dates.map((date, at) => (date.isEnd === isEnd ? date.values(texts[at]!) : {}))
    const [first, last] = [Object.assign({}, ...shown(false)), Object.assign({}, ...shown(true))]
    // The day of the one has what the other does not show, such as a year in which neither of them ends.
    for (const tokens of [
      { ...last, ...first },
      { ...first, ...last },
    ]) {
      const near = this.#near(tokens)
      const found = near.find((ordinal) => this.#textsOf(ordinal).every((text, at) => text === texts[at]))
      if (found !== undefined) return found
    }
    return undefined
  }

  /** The period of a day that tokens name, and those beside it: a year may begin, and a week end, in another year. */
  #near({ yyyy, yy, YYYY, ww, MM, Q, dd, HH }: Partial<Record<DateToken, number>>): number[] {
    const year = yyyy ?? (yy === undefined ? YYYY : 2000 + yy)
    if (year === undefined) return []
    const month = MM ?? (Q === undefined ? 1 : Q * 3 - 2)
    const byWeek = ww !== undefined && (MM === undefined || dd === undefined)
    const wallMs = byWeek
      ? mondayOf(YYYY ?? year) + (ww - 1) * weekMs
      : Date.UTC(year, month - 1, dd ?? 1, HH ?? 0)
    const ordinal = this.#periods.ordinalOfWall(wallMs)
    return [ordinal, ordinal - 1, ordinal + 1].filter((each) => each > 0)
  }

  /** Periods of some years. */
  #tried(): number[] {
    const [from, to] = [triedFrom, triedTo].map((moment) => this.#periods.ordinalOfDay(moment)) as [
      number,
      number,
    ]
    const stride = strides[this.#periods.unit]
    return Array.from({ length: Math.floor((to - from) / stride) }, (_, at) => from + at * stride)
  }
}

/** The texts of ids of periods: those of one period after the other. */
class PeriodTexts implements IdText {
  readonly bytesMax: number
  readonly isAscii: boolean
  readonly #periods: Periods
  readonly #make: (id: bigint) => IdText
  readonly #run = new Run()
  #fromId = 0n
  #untilId = 0n
  #texts: IdText

  /** `make`: the texts of the numbers in the period of an id. */
  constructor(periods: Periods, make: (id: bigint) => IdText) {
    this.#periods = periods
    this.#make = make
    // All dates are ASCII, and have one width.
    this.#texts = make(periods.firstId(periods.ordinalOfDay(triedFrom)))
    this.bytesMax = this.#texts.bytesMax
    this.isAscii = this.#texts.isAscii
  }

  inJson(): PeriodTexts {
    return new PeriodTexts(this.#periods, (id) => this.#make(id).inJson())
  }

  text(id: bigint): string {
    this.#turn(id)
    return this.#texts.text(id - this.#fromId)
  }

  write(bytes: Uint8Array, at: number, run: Run, index: number, count: number, frame: TextFrame): number {
    let end = at
    for (let next = index; next < index + count; ) {
      const id = run.at(next)
      this.#turn(id)
      const inPeriod = (this.#untilId - id - 1n) / BigInt(run.stride || 1) + 1n
      const many = Math.min(Number(inPeriod), index + count - next)
      this.#run.set(id - this.#fromId, many, run.stride)
      end = this.#texts.write(bytes, end, this.#run, 0, many, frame)
      next += many
    }
    return end
  }

  #turn(id: bigint): void {
    if (id >= this.#fromId && id < this.#untilId) return
    this.#texts = this.#make(id)
    this.#fromId = (id / this.#periods.size) * this.#periods.size
    this.#untilId = this.#fromId + this.#periods.size
  }
}

function refused(reason: string): FahaoError {
  return new FahaoError('ERR', `the format cannot be used: ${reason}`)
}
