/** The replies of a MySQL server, taken apart. See mysql-client.ts. */

/** A column definition, or that of a parameter. */
export type Column = {
  readonly catalog: string
  readonly database: string
  readonly table: string
  readonly orgTable: string
  readonly name: string
  readonly orgName: string
  readonly collation: number
  readonly length: number
  readonly type: number
  readonly flags: number
  readonly decimals: number
}

/** An OK packet. */
export type OkReply = {
  readonly kind: 'ok'
  readonly affected: bigint
  readonly insertId: bigint
  readonly status: number
  readonly warnings: number
  readonly info: string
}

/** An ERR packet. */
export type ErrorReply = {
  readonly kind: 'error'
  readonly code: number
  readonly state: string
  readonly message: string
}

/** Rows. A value of the binary protocol is written as the text protocol would write it, but for times, which stay bytes. */
export type RowsReply = {
  readonly kind: 'rows'
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly status: number
  readonly warnings: number
}

/** What a statement is answered with. */
export type Reply = OkReply | ErrorReply | RowsReply

const moreResults = 0x8
const deprecateEof = 0x100_0000

/** Reads the replies of one command: one, or those of all its statements. */
export async function readReplies(
  next: () => Promise<Buffer>,
  capabilities: number,
  form: 'text' | 'binary',
): Promise<Reply[]> {
  const replies: Reply[] = []
  for (;;) {
    const reply = await readReply(next, capabilities, form)
    replies.push(reply)
    if (reply.kind === 'error' || (reply.status & moreResults) === 0) return replies
  }
}

async function readReply(
  next: () => Promise<Buffer>,
  capabilities: number,
  form: 'text' | 'binary',
): Promise<Reply> {
  const first = new PacketReader(await next())
  if (first.peek() === 0) return readOk(first)
  if (first.peek() === 0xff) return readError(first)
  if (first.peek() === 0xfb) throw new Error('the server asks for a local file')
  const count = Number(first.lengthEncoded())
  const columns: Column[] = []
  while (columns.length < count) columns.push(new PacketReader(await next()).column())
  const withEof = (capabilities & deprecateEof) === 0
  if (withEof) await next()
  const rows: (string | null)[][] = []
  for (;;) {
    const packet = await next()
    const reader = new PacketReader(packet)
    if (packet[0] === 0xff) return readError(reader)
    if (packet[0] === 0xfe && packet.length < (withEof ? 9 : 0xff_ffff)) {
      if (!withEof) {
        const { status, warnings } = readOk(reader)
        return { kind: 'rows', columns, rows, status, warnings }
      }
      reader.advance(1)
      const warnings = reader.integer(2)
      return { kind: 'rows', columns, rows, status: reader.integer(2), warnings }
    }
    rows.push(form === 'text' ? columns.map(() => reader.value()) : reader.binaryRow(columns))
  }
}

function readOk(reader: PacketReader): OkReply {
  reader.advance(1)
  const [affected, insertId] = [reader.lengthEncoded(), reader.lengthEncoded()]
  const [status, warnings] = [reader.integer(2), reader.integer(2)]
  return {
    kind: 'ok',
    affected,
    insertId,
    status,
    warnings,
    info: reader.atEnd() ? '' : (reader.value() ?? ''),
  }
}

/** Reads an ERR packet. */
export function readError(reader: PacketReader): ErrorReply {
  reader.advance(1)
  const code = reader.integer(2)
  const state = reader.peek() === 0x23 ? reader.bytes(6).toString('latin1', 1) : ''
  return { kind: 'error', code, state, message: reader.rest().toString() }
}

/** Reads the fields of one packet, from its beginning. */
export class PacketReader {
  readonly #packet: Buffer
  #at = 0

  constructor(packet: Buffer) {
    this.#packet = packet
  }

  /** The next byte, which stays the next one; undefined at the end. */
  peek(): number | undefined {
    return this.#packet[this.#at]
  }

  /** Whether all has been read. */
  atEnd(): boolean {
    return this.#at >= this.#packet.length
  }

  /** Passes over bytes. */
  advance(count: number): void {
    this.#at += count
  }

  /** An unsigned integer of `size` bytes, at most 6. */
  integer(size: number): number {
    this.#at += size
    return this.#packet.readUIntLE(this.#at - size, size)
  }

  /** The next bytes: as many as `count`. */
  bytes(count: number): Buffer {
    this.#at += count
    return this.#packet.subarray(this.#at - count, this.#at)
  }

  /** All bytes that are left. */
  rest(): Buffer {
    return this.bytes(this.#packet.length - this.#at)
  }

  /** Text up to a byte, which is passed over. */
  text(end: number): string {
    const from = this.#at
    this.#at = this.#packet.indexOf(end, from) + 1
    return this.#packet.toString('utf8', from, this.#at - 1)
  }

  /** An integer of variable length. */
  lengthEncoded(): bigint {
    const first = this.integer(1)
    if (first < 0xfb) return BigInt(first)
    if (first === 0xfc) return BigInt(this.integer(2))
    if (first === 0xfd) return BigInt(this.integer(3))
    this.#at += 8
    return this.#packet.readBigUInt64LE(this.#at - 8)
  }

  /** A value of the text protocol. Bytes that are no UTF-8 are written in hexadecimal. */
  value(): string | null {
    if (this.peek() === 0xfb) {
      this.advance(1)
      return null
    }
    const bytes = this.bytes(Number(this.lengthEncoded()))
    const text = bytes.toString()
    return text.includes('\ufffd') ? `0x${bytes.toString('hex')}` : text
  }

  /** A column definition. */
  column(): Column {
    const texts = Array.from({ length: 6 }, () => this.value() ?? '')
    const [catalog = '', database = '', table = '', orgTable = '', name = '', orgName = ''] = texts
    this.lengthEncoded()
    const [collation, length, type] = [this.integer(2), this.integer(4), this.integer(1)]
    const names = { catalog, database, table, orgTable, name, orgName }
    return { ...names, collation, length, type, flags: this.integer(2), decimals: this.integer(1) }
  }

  /** A row of the binary protocol. */
  binaryRow(columns: readonly Column[]): (string | null)[] {
    this.advance(1)
    const nulls = this.bytes((columns.length + 9) >> 3)
    return columns.map((column, at) => {
      const bit = at + 2
      return (nulls[bit >> 3]! >> (bit & 7)) & 1 ? null : this.#binaryValue(column)
    })
  }

  #binaryValue({ type, flags }: Column): string | null {
    const isUnsigned = (flags & 0x20) !== 0
    const sizes: Readonly<Record<number, number>> = { 1: 1, 2: 2, 13: 2, 3: 4, 9: 4, 8: 8 }
    const size = sizes[type]
    if (size !== undefined) {
      const bits = this.bytes(size)
      const value = [...bits].reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
      return `${isUnsigned ? value : BigInt.asIntN(size * 8, value)}`
    }
    if (type === 4) return `${this.bytes(4).readFloatLE()}`
    if (type === 5) return `${this.bytes(8).readDoubleLE()}`
    if ([7, 10, 11, 12].includes(type)) return `time:${this.bytes(this.integer(1)).toString('hex')}`
    return this.value()
  }
}
