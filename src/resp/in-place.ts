/**
 * Answers requests where their bytes lie: INCR, INCRBY, ID.NEXT, ID.RUNS and GET of generators that are open here, in upper
 * or lower case. A request costs a look-up of its name, an addition in a row of buffers/fast-runs.ts, and the digits in the
 * output: no object, string or array is made for it. Whatever has another form, or cannot be answered at once, is left to the
 * handler of its command.
 *
 * Invariants
 *  1. A request is answered here as its handler would answer it, or not at all: then nothing of it has happened. One difference:
 *     an id from 2^53−64 to 2^53−1 for a client that may round it, which comes from the generator and not from a row, is used
 *     up, and the answer is UNSAFE.
 *  2. Ids are taken from the row of the name alone, and only while its gate is open.
 *  3. What is noted in an entry holds for its name, and for one `Access` or one state of the namespaces, each of which has a
 *     number that no other ever has.
 *  4. Ids that a namespace counts are charged in the same step in which they are taken, to all quotas that count them.
 *  5. Requests are answered in their order, up to the first that is not answered here.
 *  6. Between the moment at which a row is read and the one at which what was taken is written, nothing else changes the row.
 */
import type { Access } from '../auth/access.ts'
import { rowEndLo, rowGate, rowHi, rowLo, rowStride, rowWords } from '../buffers/fast-runs.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import type { Meters } from '../catalogue/metered-generator.ts'
import {
  contiguousBit,
  entryLength,
  entryMetered,
  entryReached,
  formatBit,
  restingBit,
} from '../catalogue/name-bytes.ts'
import type { NameTable } from '../catalogue/name-table.ts'
import { Run, two32 } from '../ids/run.ts'
import { longCheck, type TurnQueue } from '../listening/turns.ts'
import { isIssuedHereAlone } from '../operations/newest.ts'
import type { Meter } from '../quotas/quotas.ts'
import { encode, encodeRun } from './encoder.ts'
import {
  commandAt,
  commandNames,
  countAt,
  get,
  headOf,
  incr,
  incrBy,
  lengthAt,
  next,
  nothing,
  repeatsOf,
  runs,
} from './frame-heads.ts'
import type { Output } from './output.ts'
import type { Decoder } from './request-decoder.ts'
import { readExactlyMaxNumber } from './rounding.ts'
import type { RespSession } from './session.ts'

/** What a server's requests are answered from. */
export type InPlaceSource = {
  readonly names: NameTable<Generator>
  readonly meters: Meters
  /** The most ids of one INCRBY or ID.RUNS. */
  readonly incrByMax: bigint
}

/** What may be answered here under some permissions. */
export type Permitted = {
  readonly access: Access
  /** A bit for each command. */
  readonly commands: number
  /** What is noted in the entries of names that these permissions reach. 0: they reach all names; −1: nothing is noted. */
  readonly reach: number
}

/** After that many bytes of replies the connection sends them. */
const repliesMax = 65_536
/** Permissions get numbers up to this one. */
const reachMax = 2 ** 31 - 1

/** The ids have a format, and the generator is at rest. */
const textAtRest = formatBit | restingBit

/** Filled and emptied within one call. */
const run = new Run()

/** Answers the requests of one server. */
export class InPlace {
  readonly #source: InPlaceSource
  readonly #output: Output
  readonly #countMax: number
  readonly #turns: TurnQueue
  readonly #onUnsafe: (ids: number) => void
  readonly #permitted = new WeakMap<Access, Permitted>()
  #newestReach = 0
  /** The meters of entries in which they are noted. */
  readonly #meterOf: (Meter | undefined)[] = []
  /** The command of the request that was answered last. */
  #command = nothing

  /** @param onUnsafe is told of ids that were used up and that their client could have rounded. */
  constructor(
    source: InPlaceSource,
    { output, turns }: { readonly output: Output; readonly turns: TurnQueue },
    onUnsafe: (ids: number) => void,
  ) {
    this.#source = source
    this.#countMax = Number(source.incrByMax)
    this.#output = output
    this.#turns = turns
    this.#onUnsafe = onUnsafe
  }

  /** What may be answered here under these permissions. */
  permitted(access: Access): Permitted {
    const known = this.#permitted.get(access)
    if (known !== undefined) return known
    const commands = [...commandNames].reduce(
      (bits, [command, name]) => bits | (access.allows(name) ? 1 << command : 0),
      0,
    )
    const permitted = { access, commands: access.user === '' ? 0 : commands, reach: this.#reachOf(access) }
    this.#permitted.set(access, permitted)
    return permitted
  }

  /** Answers requests from `decoder` on; returns how many. */
  answer(decoder: Decoder, session: RespSession, { access, commands: allowed, reach }: Permitted): number {
    const stamp = this.#source.meters.stampOf(access.user)
    if (allowed === 0 || stamp < 0 || !decoder.isBetween) return 0
    const { names, meters } = this.#source
    const countMax = this.#countMax
    const table = names.runs
    const { wideIds } = session
    const exactMax = wideIds === 'integer' ? Number.POSITIVE_INFINITY : readExactlyMaxNumber
    const commands = session.trackingModes === undefined ? allowed : allowed & ~(1 << get)
    const output = this.#output
    const { bytes, view, end } = decoder
    let { words } = table
    let nowUs = -1
    let at = decoder.at
    let answered = 0
    try {
      while (output.length < repliesMax) {
        const command = commandAt(view, at, end)
        if (((commands >> command) & 1) === 0) break
        const head = at + headOf[command]!
        const length = lengthAt(bytes, head, end)
        if (length === 0) break
        const name = head + (length < 10 ? 4 : length < 100 ? 5 : 6)
        let frameEnd = name + length + 2
        if (frameEnd > end) break
        let wanted = 1
        if (command === incrBy || command === runs) {
          wanted = countAt(bytes, frameEnd, end)
          if (wanted === 0 || wanted > countMax) break
          frameEnd += 6 + bytes[frameEnd + 1]! - 48
        }
        let entry = names.entryOf(view, name, length)
        if (entry === 0 && command !== get) {
          entry = this.#enter(bytes, name, length, access)
          ;({ words } = table)
        }
        if (entry === 0) break
        const rowAt = entry * rowWords
        if (reach !== 0 && words[rowAt + entryReached] !== reach && !this.#noteReach(entry, access, reach))
          break

        // The text of an id is made by its generator. One at rest is woken before its row is read: that may change the row.
        if (command === next && (words[rowAt + entryLength]! & textAtRest) === textAtRest) names.at(entry)
        const isOpen = table.closedGates === 0 || table.gates[words[rowAt + rowGate]!] === 1
        const lo = words[rowAt + rowLo]! >>> 0
        const endLo = isOpen ? words[rowAt + rowEndLo]! >>> 0 : lo
        const hi = words[rowAt + rowHi]!
        const stride = words[rowAt + rowStride]!
        let requests = 1

        if (command === get) {
          // What fills a row has issued the id before its first one.
          if (lo < endLo && lo >= stride) output.bulkId(hi, lo - stride)
          else if (!this.#writeNewest(names.at(entry)!, session.protocol)) break
        } else {
          let meter: Meter | undefined
          let most = Number.POSITIVE_INFINITY
          if (stamp > 0) {
            if (words[rowAt + entryMetered]! >>> 1 !== stamp) this.#noteMeter(entry, stamp, access.user)
            if ((words[rowAt + entryMetered]! & 1) === 1) {
              meter = this.#meterOf[entry]!
              if (nowUs < 0) nowUs = meters.nowUs()
              most = meter.available(nowUs)
              if (most < wanted) break
            }
          }
          const flags = words[rowAt + entryLength]!
          if (lo + wanted * stride <= endLo) {
            if (command === incr)
              requests += repeatsOf(view, at, frameEnd, end, Math.min(most, (endLo - lo) / stride) - 1)
            const ids = wanted * requests
            const isInteger = command === incr || command === incrBy
            const last = hi * two32 + lo + (ids - 1) * stride
            if (isInteger && (last > exactMax || (ids > requests && (flags & contiguousBit) === 0))) break
            if (command === next && (flags & formatBit) !== 0) {
              run.hi = hi
              run.lo = lo
              // Before the id is taken: a format may refuse it.
              output.text('$', names.at(entry)!.text(run.first))
            } else if (command === next) output.bulkId(hi, lo)
            else if (command === runs) output.oneRun(hi, lo, stride, ids)
            else if (requests === 1) output.id(hi, lo + (ids - 1) * stride)
            else {
              run.hi = hi
              run.lo = lo
              run.count = ids
              run.stride = stride
              output.run(run)
            }
            words[rowAt + rowLo] = lo + ids * stride
            meter?.issued(ids)
          } else {
            if (isOpen && names.extend(entry)) continue
            // The generator fills its row, or starts a refill, or has ids that need more than an addition.
            if (wanted > 1 || (command === next && (flags & formatBit) !== 0)) break
            const generator = names.at(entry)!
            if (wideIds === 'refused' && command <= incrBy && !generator.nextIsSafe()) break
            if (generator.take(1, run) === 0) break
            meter?.issued(1)
            if (command === next) output.bulkId(run.hi, run.lo)
            else if (command === runs) output.oneRun(run.hi, run.lo, run.stride, 1)
            else {
              const unsafe = encodeRun(output, run, wideIds)
              if (unsafe > 0) this.#onUnsafe(unsafe)
            }
            ;({ words } = table)
          }
        }
        this.#command = command
        answered += requests
        at = requests === 1 ? frameEnd : at + requests * (frameEnd - at)
      }
    } finally {
      if (answered > 0) {
        decoder.skipTo(at)
        session.lastCommand = commandNames.get(this.#command)!
      }
    }
    return answered
  }

  /** Writes the newest id of a generator whose row does not tell it. False if other nodes may know a newer one. */
  #writeNewest(generator: Generator, protocol: 2 | 3): boolean {
    if (!isIssuedHereAlone(generator)) return false
    const newest = generator.lastIssued()
    if (newest === undefined) encode(this.#output, null, { protocol, wideIds: 'integer' })
    else this.#output.text('$', String(newest))
    return true
  }

  /** Has a name enter memory that needs no opening, if the permissions reach it. Returns its entry, or 0. */
  #enter(bytes: Buffer, start: number, length: number, access: Access): number {
    const name = bytes.toString('latin1', start, start + length)
    if (access.work > longCheck || !access.reaches(name)) return 0
    return this.#source.names.enter(name)
  }

  #reachOf(access: Access): number {
    if (access.reachesAll) return 0
    return this.#newestReach < reachMax ? ++this.#newestReach : -1
  }

  /** Whether the permissions reach the name of an entry; notes it. False if that takes long. */
  #noteReach(entry: number, access: Access, reach: number): boolean {
    if (access.work > longCheck) return false
    this.#turns.spend(access.work)
    const { names } = this.#source
    if (!access.reaches(names.nameOf(entry))) return false
    if (reach > 0) names.runs.words[entry * rowWords + entryReached] = reach
    return true
  }

  /** Notes whether a namespace counts the user's requests for the name of an entry, and its meter. */
  #noteMeter(entry: number, stamp: number, user: string): void {
    const { names, meters } = this.#source
    const meter = meters.quotas.meterOf(names.nameOf(entry), user)
    this.#meterOf[entry] = meter
    names.runs.words[entry * rowWords + entryMetered] = (stamp << 1) | (meter === undefined ? 0 : 1)
  }
}
