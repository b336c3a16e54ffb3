/** Messages of clients of the PostgreSQL protocol. */

/** The messages with which a user logs in, as Latin-1. */
export function postgresLogin(user: string, password: string): string {
  return Buffer.concat([startup(user), message('p', `${password}\0`)]).toString('latin1')
}

/** A number of 16 bits. */
export function int16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}

/** A number of 32 bits. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** A message; an empty type is that of the first one. */
export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

/** The first message of a user. */
export function startup(user: string): Buffer {
  return message('', int32(0x3_0000), `user\0${user}\0\0`)
}

/** A message of the simple protocol. */
export function query(text: string): Buffer {
  return message('Q', `${text}\0`)
}

/** Parse. */
export function parse(name: string, text: string): Buffer {
  return message('P', `${name}\0${text}\0`, int16(0))
}

/** Sync. */
export function sync(): Buffer {
  return message('S')
}
