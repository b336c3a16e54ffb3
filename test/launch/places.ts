/** Ports and folders of a test's servers, which no other test uses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd, type Lifetime } from './lifetime.ts'

// Below the ports that the kernel gives to outgoing connections, so that none of those takes it meanwhile.
const firstPort = 12_000
const lastPort = 32_000
const given = new Set<number>()

/** A loopback port on which nothing listens, and which this process has not been given before. */
export function freePort(): Promise<number> {
  return freePorts(1)
}

/** The first of so many in a row. */
export async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const first = firstPort + Math.floor(Math.random() * (lastPort - firstPort))
    const ports = Array.from({ length: count }, (_, at) => first + at)
    const free = await Promise.all(ports.map((port) => !given.has(port) && canListen(port)))
    if (free.includes(false)) continue
    for (const port of ports) given.add(port)
    return first
  }
  throw new Error('no free loopback port was found in a hundred tries')
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** An empty folder that goes with everything in it when `lifetime` is over. */
export function temporaryFolder(lifetime: Lifetime): string {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-test-'))
  atEnd(lifetime, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
