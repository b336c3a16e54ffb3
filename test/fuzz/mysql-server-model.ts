/** A MySQL server of a few lines: it answers each command in the form that a real one has, and keeps no data. */
import { packetOf } from '../launch/raw-mysql.ts'

const [close, longData, quit] = [0x19, 0x18, 0x01]
const [query, fieldList, prepare, execute, statistics, fetch] = [0x03, 0x04, 0x16, 0x17, 0x09, 0x1c]
const moreResults = 8
const known = [0x02, 0x0e, 0x11, 0x1a, 0x1b, 0x1f]

/** The packets in a stream, and what is left of the last one. */
export function packetsIn(bytes: Buffer): { packets: Buffer[]; rest: Buffer } {
  const packets: Buffer[] = []
  let at = 0
  while (bytes.length - at >= 4 && bytes.length - at >= 4 + bytes.readUIntLE(at, 3)) {
    const end = at + 4 + bytes.readUIntLE(at, 3)
    packets.push(bytes.subarray(at, end))
    at = end
  }
  return { packets, rest: bytes.subarray(at) }
}

/** One connection. */
export class MysqlServerModel {
  #rest = Buffer.alloc(0)
  readonly #statements = new Map<number, number>()
  #prepared = 0

  /** Takes bytes; returns the reply to each command that is complete. */
  take(bytes: Buffer): Buffer[] {
    const { packets, rest } = packetsIn(Buffer.concat([this.#rest, bytes]))
    this.#rest = Buffer.from(rest)
    return packets.map((packet) => this.#reply(packet.subarray(4))).filter(({ length }) => length > 0)
  }

  #reply(payload: Buffer): Buffer {
    const [command = 0] = payload
    if (command === close) this.#statements.delete(payload.length < 5 ? 0 : payload.readUInt32LE(1))
    if (command === close || command === longData || command === quit) return Buffer.alloc(0)
    if (command === query) return replies(payload.toString('latin1', 1))
    if (command === prepare) return this.#prepare(payload.toString('latin1', 1))
    if (command === statistics) return packetOf(Buffer.from('Uptime: 1'), 1)
    if (command === fieldList || command === fetch) return inOrder([eof(0)])
    if (command === execute) {
      const number = payload.length < 5 ? 0 : payload.readUInt32LE(1)
      const isKnown = number === 0xffff_ffff ? this.#prepared > 0 : this.#statements.has(number)
      return inOrder([isKnown ? ok(0) : refusal(1243)])
    }
    return inOrder([known.includes(command) ? ok(0) : refusal(1047)])
  }

  #prepare(sql: string): Buffer {
    const isTable = sql.startsWith('SELECT *')
    const parameters = sql.split('?').length - 1
    this.#statements.set(++this.#prepared, parameters)
    const head = Buffer.alloc(12)
    head.writeUInt32LE(this.#prepared, 1)
    head.writeUInt16LE(isTable ? 2 : 0, 5)
    head.writeUInt16LE(parameters, 7)
    const shown = Array.from({ length: parameters }, () => definition('?', 253))
    const columns = isTable ? [definition('id', 8), definition('item', 253)] : []
    return inOrder([head, ...ended(shown), ...ended(columns)])
  }
}

/** The replies to all statements of a text. */
function replies(sql: string): Buffer {
  const statements = sql.split(';').filter((each) => each.trim() !== '')
  const packets = statements.flatMap((each, at) => {
    const status = at < statements.length - 1 ? moreResults : 0
    return /^\s*(SELECT|SHOW)/i.test(each) ? result(each, status) : [ok(status)]
  })
  return inOrder(packets.length > 0 ? packets : [refusal(1065)])
}

/** One row, with a value for each expression. */
function result(sql: string, status: number): Buffer[] {
  const list = sql.replace(/^\s*(SELECT|SHOW)/i, '').replace(/\sFROM\s[\s\S]*$/i, '')
  // The name, the type and the collation of a column.
  const isColumn = /^SHOW FULL COLUMNS/.test(sql)
  const values = isColumn ? ['id', 'bigint(20)', ''] : list.split(/,(?![^(]*\))/).map(answerTo)
  return [
    Buffer.from([values.length]),
    ...ended(values.map(() => definition('x', 253))),
    Buffer.concat(values.map((value) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]))),
    eof(status),
  ]
}

function answerTo(expression: string): string {
  if (/sql_mode/.test(expression)) return 'STRICT_ALL_TABLES'
  if (/character_set/.test(expression)) return 'utf8mb4'
  return /DATABASE\(\)/.test(expression) ? Buffer.from('shop').toString('hex').toUpperCase() : '0'
}

function ended(definitions: readonly Buffer[]): Buffer[] {
  return definitions.length === 0 ? [] : [...definitions, eof(0)]
}

/** Catalogue, schema, table, original table, name, original name; 12 bytes of which the type is the eighth. */
function definition(name: string, type: number): Buffer {
  const texts = ['def', 'shop', 'orders', 'orders', name, name].map((text) =>
    Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]),
  )
  return Buffer.concat([...texts, Buffer.from([12, 45, 0, 255, 0, 0, 0, type, 0, 0, 0, 0, 0])])
}

function ok(status: number): Buffer {
  return Buffer.from([0, 1, 0, status, 0, 0, 0])
}

function eof(status: number): Buffer {
  return Buffer.from([0xfe, 0, 0, status, 0])
}

function refusal(code: number): Buffer {
  return Buffer.from([0xff, code & 0xff, code >> 8, ...Buffer.from('#42000no')])
}

function inOrder(payloads: readonly Buffer[]): Buffer {
  return Buffer.concat(payloads.map((payload, at) => packetOf(payload, (at + 1) & 0xff)))
}
