/** A MySQL server that vanishes with its network: it lets every client in, and answers PING alone. */
import { createServer, type Socket } from 'node:net'
import { commandOf, packetOf } from '../launch/raw-mysql.ts'

const [queryCommand, pingCommand] = [0x03, 0x0e]
const ok = Buffer.from([0, 0, 0, 2, 0, 0, 0])

/** COM_PING. */
export const ping = packetOf(commandOf(pingCommand))
/** A query of whose result the server sends the first packet alone. */
export const unfinishedResult = packetOf(commandOf(queryCommand, 'SELECT 1'))

/** Listens. */
export function listenAsUpstream({ host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => serve(socket.on('error', () => {})))
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
}

/** Each chunk is one packet: no client sends two at once. */
function serve(socket: Socket): void {
  socket.write(packetOf(greeting()))
  socket.on('data', (packet: Buffer) => {
    const isLogin = packet[3] !== 0
    if (isLogin || packet[4] === pingCommand) socket.write(packetOf(ok, packet[3]! + 1))
    else socket.write(packetOf(Buffer.from([1]), 1))
  })
}

/** 10, a version, a thread, a challenge, and what is offered: MySQL's manual, "Protocol::HandshakeV10". */
function greeting(): Buffer {
  const tail = Buffer.alloc(44)
  tail.writeUInt16LE(0xf7fe, 13)
  tail.writeUInt16LE(0x01ff, 18)
  return Buffer.concat([Buffer.from('\n10.11.6-MariaDB\0'), tail, Buffer.from('mysql_native_password\0')])
}
