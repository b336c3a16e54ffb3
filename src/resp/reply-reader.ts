/** Reads a reply of another node into plain data, for callers inside this process. */
import { type ErrorCode, errorKinds, FahaoError } from '../base/errors.ts'
import type { EncodedReply } from '../commands/command.ts'
import type { PlainReply } from '../commands/in-process.ts'

type Read = { readonly reply: PlainReply; readonly end: number }

/** The reply as plain data. Throws the error that it is. */
export function readReply({ bytes }: EncodedReply): PlainReply {
  return readAt(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0).reply
}

/** `ReplySplitter` has found the reply to be whole. */
function readAt(bytes: Buffer, at: number): Read {
  const lineEnd = bytes.indexOf('\r\n', at)
  const type = String.fromCharCode(bytes[at]!)
  const line = bytes.toString('utf8', at + 1, lineEnd)
  const end = lineEnd + 2
  switch (type) {
    case '-':
      throw errorOf(line)
    case '+':
    case ',':
      return { reply: line, end }
    case ':':
    case '(':
      return { reply: BigInt(line), end }
    case '_':
      return { reply: null, end }
    case '#':
      return { reply: line === 't' ? 1n : 0n, end }
    case '$':
    case '=':
    case '!':
      return readBulk(bytes, type, Number(line), end)
    default:
      return readAll(bytes, type, Number(line), end)
  }
}

function readBulk(bytes: Buffer, type: string, length: number, start: number): Read {
  if (length < 0) return { reply: null, end: start }
  const text = bytes.toString('utf8', start, start + length)
  if (type === '!') throw errorOf(text)
  // A verbatim string begins with its format: `txt:`.
  return { reply: type === '=' ? text.slice(4) : text, end: start + length + 2 }
}

function readAll(bytes: Buffer, type: string, length: number, start: number): Read {
  if (length < 0) return { reply: null, end: start }
  const items: PlainReply[] = []
  let end = start
  for (let left = type === '%' ? 2 * length : length; left > 0; left--) {
    const item = readAt(bytes, end)
    items.push(item.reply)
    end = item.end
  }
  if (type !== '%') return { reply: items, end }
  const entries = items.flatMap((key, index) =>
    index % 2 === 0 ? [[String(key), items[index + 1]!] as const] : [],
  )
  return { reply: new Map(entries), end }
}

function errorOf(line: string): FahaoError {
  const [code = '', ...words] = line.split(' ')
  return code in errorKinds ? new FahaoError(code as ErrorCode, words.join(' ')) : new FahaoError('ERR', line)
}
