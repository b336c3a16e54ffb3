/** Memory of a server after a full collection of garbage, asked through Node's inspector. */
import { once } from 'node:events'

/** In bytes. */
export type ServerMemory = {
  /** Objects, and the buffers behind them. */
  readonly usedBytes: number
  readonly residentBytes: number
}

/** The environment in which a server listens for the inspector on this port. */
export function inspectable(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` }
}

/** Collects all garbage of the main thread, then reads its memory and that of the whole process. */
export async function serverMemory(port: number): Promise<ServerMemory> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(targets[0]!.webSocketDebuggerUrl)
  await once(socket, 'open')
  let id = 0
  const call = async (method: string, params: object = {}) => {
    const own = ++id
    socket.send(JSON.stringify({ id: own, method, params }))
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
      const message = JSON.parse(data)
      if (message.id === own) return message.result
    }
  }
  try {
    // What the first collection ends may hold more: finalizers run after it.
    for (let time = 0; time < 3; time++) await call('HeapProfiler.collectGarbage')
    const { result } = await call('Runtime.evaluate', { expression: 'JSON.stringify(process.memoryUsage())' })
    const { heapUsed, external, rss } = JSON.parse(result.value)
    return { usedBytes: heapUsed + external, residentBytes: rss }
  } finally {
    socket.close()
  }
}
