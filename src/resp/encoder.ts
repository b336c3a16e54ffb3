/** Replies → bytes, in RESP2 and RESP3. `output.ts` writes the digits of ids. */
import { unreachable } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import {
  EncodedReply,
  Invalidating,
  Issued,
  IssuedRuns,
  MapReply,
  RepliesOf,
  type Reply,
  SetReply,
  SimpleString,
  VerbatimText,
} from '../commands/command.ts'
import { readExactlyMax } from '../commands/drawing.ts'
import { Batch } from '../ids/batch.ts'
import type { Run } from '../ids/run.ts'
import { IssuedTexts } from '../operations/issued-texts.ts'
import { bulkMaxBytes, type Output } from './output.ts'
import { firstReadsExactly, readsExactly, type WideIds } from './rounding.ts'

/** How many bytes of a reply of many ids are written at a time: a thousand ids in decimal. */
const partBytesMax = 32_768

/** The form of replies to a client. */
export type Encoding = {
  readonly protocol: 2 | 3
  readonly wideIds: WideIds
}

/** Writes a reply. Throws UNSAFE for an id that the client would round: set the output back then. */
export function encode(output: Output, reply: Reply, encoding: Encoding): void {
  const three = encoding.protocol === 3
  if (typeof reply === 'number' || typeof reply === 'bigint') return output.line(':', reply)
  if (typeof reply === 'string') return output.text('$', reply)
  if (reply === null) return output.ascii(three ? '_\r\n' : '$-1\r\n')
  if (reply instanceof Issued) return encodeIssued(output, reply.id, encoding.wideIds)
  if (reply instanceof IssuedTexts) return encodeTexts(output, reply)
  if (reply instanceof IssuedRuns) return encodeRuns(output, reply)
  if (reply instanceof EncodedReply) return output.encoded(reply.bytes)
  if (reply instanceof Invalidating) return encodeInvalidating(output, reply, encoding)
  if (reply instanceof RepliesOf) return output.line('*', reply.count)
  if (reply instanceof SimpleString) return output.oneLine('+', reply.text)
  if (reply instanceof Uint8Array) return output.bytes('$', reply)
  if (isArray(reply)) return encodeItems(output, '*', reply, encoding)
  if (reply instanceof VerbatimText) {
    return three ? output.text('=', reply.text, 'txt:') : output.text('$', reply.text)
  }
  if (reply instanceof SetReply) return encodeItems(output, three ? '~' : '*', reply.items, encoding)
  if (reply instanceof MapReply) return encodeMap(output, reply, encoding)
  return unreachable(reply)
}

/** Writes `-CODE message`. */
export function encodeError(output: Output, code: string, message: string): void {
  output.oneLine('-', `${code} ${message}`)
}

/**
 * Writes a reply for each id of a run, which is empty afterwards; UNSAFE for an id that this client may round. Returns how
 * many of these there were.
 */
export function encodeRun(output: Output, run: Run, wideIds: WideIds): number {
  if (wideIds === 'integer' || readsExactly(run)) {
    output.run(run)
    return 0
  }
  let unsafe = 0
  for (; run.count > 0; run.advance()) {
    if (firstReadsExactly(run)) output.line(':', run.number)
    else if (wideIds === 'big-number') output.bigNumber(run)
    else {
      encodeError(output, 'UNSAFE', unsafeInteger().message)
      unsafe++
    }
  }
  return unsafe
}

/** The reply instead of an id that the client may round. */
function unsafeInteger(): FahaoError {
  return new FahaoError(
    'UNSAFE',
    'the id is past 2^53-1 and this client has not shown that it reads such integers exactly; use ID.NEXT, which replies a string, or send CLIENT SETINFO LIB-NAME with the name of your library',
  )
}

function encodeIssued(output: Output, id: bigint, wideIds: WideIds): void {
  if (id <= readExactlyMax || wideIds === 'integer') return output.line(':', id)
  if (wideIds === 'refused') throw unsafeInteger()
  output.line('(', id)
}

/** Writes one text: a write for each part of the reply would take longer than all else. */
function encodeRuns(output: Output, { runs }: IssuedRuns): void {
  let text = `*${runs.length}\r\n`
  for (const { first, stride, count } of runs) {
    const firstText = String(first)
    const strideText = String(stride)
    text += `*3\r\n$${firstText.length}\r\n${firstText}\r\n$${strideText.length}\r\n${strideText}\r\n:${count}\r\n`
  }
  output.ascii(text)
}

function encodeTexts(output: Output, reply: IssuedTexts): void {
  const texts = new TextsWriter(output, reply)
  while (!texts.done) texts.writePart(output)
}

/** A reply of many ids, written a part at a time. It is complete only if each part is written. */
export class TextsWriter {
  readonly #batch: Batch

  /** Writes the head of the reply. */
  constructor(output: Output, { runs, count, text }: IssuedTexts) {
    this.#batch = new Batch(runs, text)
    output.line('*', count)
  }

  /** Whether all of it is written. */
  get done(): boolean {
    return this.#batch.done
  }

  /** Writes the next part; returns its cost beyond its bytes. Throws what the format does. */
  writePart(output: Output): number {
    return this.#batch.next(partBytesMax, {
      aroundBytesMax: bulkMaxBytes,
      ordered: (text, run, index, count) => output.texts(text, run, index, count),
      scattered: (text, run, index, count) => {
        for (let at = index; at < index + count; at++) output.text('$', text.text(run.at(at)))
      },
    })
  }
}

/** See "Client-side caching" in Redis's documentation of RESP3. */
function encodeInvalidating(output: Output, { reply, names }: Invalidating, encoding: Encoding): void {
  encode(output, reply, encoding)
  if (encoding.protocol === 3) encodeItems(output, '>', ['invalidate', names], encoding)
}

function encodeItems(output: Output, introducer: string, items: readonly Reply[], encoding: Encoding): void {
  output.line(introducer, items.length)
  for (const item of items) encode(output, item, encoding)
}

function encodeMap(output: Output, { entries }: MapReply, encoding: Encoding): void {
  if (encoding.protocol === 3) output.line('%', entries.length)
  else output.line('*', entries.length * 2)
  for (const [key, value] of entries) {
    encode(output, key, encoding)
    encode(output, value, encoding)
  }
}

function isArray(reply: object): reply is readonly Reply[] {
  return Array.isArray(reply)
}
