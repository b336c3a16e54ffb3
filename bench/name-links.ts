/** Asks many names once each, over many connections. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { encodeCommand } from '../test/launch/raw-client.ts'

/** The key that redis-benchmark makes of a number; of `-r COUNT` it takes 0 … COUNT − 1. */
export function benchmarkKey(index: number): string {
  return `counter:${`${index}`.padStart(12, '0')}`
}

/** The extent of a load: connections, and requests under way on each. */
export type Lanes = { readonly connections: number; readonly pipeline: number }

/** INCR of each of `count` names once; resolves to the seconds that it took. Rejects when a reply is an error. */
export async function askEach(
  port: number,
  count: number,
  nameOf: (index: number) => string,
  { connections, pipeline }: Lanes = { connections: 64, pipeline: 16 },
): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const fromMs = performance.now()
  let next = 0
  const askOn = async (socket: Socket) => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + pipeline)
      const requests: Buffer[] = []
      for (let index = from; index < next; index++) requests.push(encodeCommand(['INCR', nameOf(index)]))
      await ask(socket, Buffer.concat(requests), requests.length)
    }
  }
  await Promise.all(sockets.map(askOn))
  const seconds = (performance.now() - fromMs) / 1000
  for (const socket of sockets) socket.destroy()
  return seconds
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** Sends requests whose replies are integers, and waits for all of these. */
async function ask(socket: Socket, requests: Buffer, replies: number): Promise<void> {
  let left = replies
  let text = ''
  socket.write(requests)
  while (left > 0) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    text += chunk.toString('latin1')
    const refusal = /^-.*$/m.exec(text)
    if (refusal !== null) throw new Error(`INCR was answered: ${refusal[0]}`)
    const lines = text.split('\n')
    left -= lines.length - 1
    text = lines.at(-1)!
  }
}
