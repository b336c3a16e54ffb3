/**
 * A minimal server of PostgreSQL's protocol on node:net: every query is answered with the next number. It has no parser, no
 * users, no durability and no errors; it is the baseline for the cost of Fahao's features. `node bench/bare-postgres.ts PORT`
 */
import { createServer, type Socket } from 'node:net'

let value = 0

const headerBytes = 5
/** A request for TLS has 8 bytes, and no type as its first byte. */
const encryptionRequestBytes = 8
const ready = message('Z', Buffer.from('I'))
const complete = message('C', Buffer.from('SELECT 1\0'))
const columns = message('T', rowDescription('nextval'))
const welcome = Buffer.concat([message('R', Buffer.alloc(4)), ready])
const parsed = message('1', Buffer.alloc(0))
const bound = message('2', Buffer.alloc(0))

createServer({ noDelay: true }, serve).listen(Number(process.argv[2]), '127.0.0.1')

function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0)
  let isOpen = false
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const replies: Buffer[] = []
    let at = 0
    while (at + headerBytes <= bytes.length) {
      const length = bytes.readUInt32BE(isOpen ? at + 1 : at) + (isOpen ? 1 : 0)
      if (at + length > bytes.length) break
      if (isOpen) reply(bytes[at]!, replies)
      else if (length === encryptionRequestBytes) replies.push(Buffer.from('N'))
      else {
        isOpen = true
        replies.push(welcome)
      }
      at += length
    }
    rest = bytes.subarray(at)
    if (replies.length > 0) socket.write(Buffer.concat(replies))
  })
  socket.on('error', () => socket.destroy())
}

function reply(type: number, replies: Buffer[]): void {
  switch (String.fromCharCode(type)) {
    case 'Q':
      replies.push(columns, nextRow(), complete, ready)
      break
    case 'P':
      replies.push(parsed)
      break
    case 'B':
      replies.push(bound)
      break
    case 'D':
      replies.push(columns)
      break
    case 'E':
      replies.push(nextRow(), complete)
      break
    case 'S':
      replies.push(ready)
  }
}

function nextRow(): Buffer {
  const text = `${++value}`
  const body = Buffer.alloc(6 + text.length)
  body.writeUInt16BE(1, 0)
  body.writeUInt32BE(text.length, 2)
  body.write(text, 6, 'latin1')
  return message('D', body)
}

/** One column of type bigint, in text format. */
function rowDescription(name: string): Buffer {
  const [bigintType, bigintBytes] = [20, 8]
  const count = Buffer.from([0, 1])
  const column = Buffer.alloc(18)
  column.writeUInt32BE(bigintType, 6)
  column.writeUInt16BE(bigintBytes, 10)
  column.writeInt32BE(-1, 12)
  return Buffer.concat([count, Buffer.from(`${name}\0`), column])
}

function message(type: string, body: Buffer): Buffer {
  const bytes = Buffer.alloc(headerBytes + body.length)
  bytes.write(type, 0, 'latin1')
  bytes.writeUInt32BE(4 + body.length, 1)
  body.copy(bytes, headerBytes)
  return bytes
}
