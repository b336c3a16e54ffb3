/** Reads a reply of another node, or of a Redis, into plain data. */
import { type ErrorCode, errorKinds, FahaoError } from '../base/errors.ts'
import type { EncodedReply } from '../commands/command.ts'

/** A reply as plain data: an integer is a bigint, a text a string, nil is null. */
export type PlainReply = bigint | string | null | readonly PlainReply[]

type Read = { readonly reply: PlainReply; readonly end: number }

/** The reply as plain data. Throws the error that it is. */
export function readReply({ bytes }: EncodedReply): PlainReply {
  return readAt(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0).reply
}

/** `ReplySplitter` has found the reply to be whole. Nodes of this version send no other types to each other. */
function readAt(bytes: Buffer, at: number): Read {
  const lineEnd = bytes.indexOf('\r\n', at)
  const line = bytes.toString('utf8', at + 1, lineEnd)
  const end = lineEnd + 2
  switch (String.fromCharCode(bytes[at]!)) {
    case '-':
      throw errorOf(line)
    case '+':
      return { reply: line, end }
    case ':':
      return { reply: BigInt(line), end }
    case '$': {
      if (line === '-1') return { reply: null, end }
      const textEnd = end + Number(line)
      return { reply: bytes.toString('utf8', end, textEnd), end: textEnd + 2 }
    }
    case '*':
      return readAll(bytes, Number(line), end)
    case '_':
      return { reply: null, end }
    default:
      throw new FahaoError(
        'ERR',
        'another node has sent a reply of a type that this version does not read; upgrade this node',
      )
  }
}

function readAll(bytes: Buffer, length: number, start: number): Read {
  const items: PlainReply[] = []
  let end = start
  for (let left = length; left > 0; left--) {
    const item = readAt(bytes, end)
    items.push(item.reply)
    end = item.end
  }
  return { reply: items, end }
}

function errorOf(line: string): FahaoError {
  const [code = '', ...words] = line.split(' ')
  return code in errorKinds ? new FahaoError(code as ErrorCode, words.join(' ')) : new FahaoError('ERR', line)
}
