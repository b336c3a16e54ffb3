/** Ports and folders of a test's servers, which no other test uses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd, type Lifetime } from './lifetime.ts'

// Below the ports that the kernel gives to outgoing connections, so that none of those takes it meanwhile.
const firstPort = 12_000
const lastPort = 32_000
const blockSize = 100

/** Ports that are this process's alone: it listens on the port below the first of them until it ends. */
const block = { nextPort: 0, end: 0 }
let lastCall: Promise<unknown> = Promise.resolve()

/** A loopback port on which nothing listens, and which no process of a test has been given as long as this one runs. */
export function freePort(): Promise<number> {
  return freePorts(1)
}

/** The first of `count` in a row. */
export function freePorts(count: number): Promise<number> {
  const ports = lastCall.then(() => takePorts(count))
  lastCall = ports.catch(() => {})
  return ports
}

async function takePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    if (block.nextPort + count > block.end) await takeBlock()
    const first = block.nextPort
    block.nextPort += count
    const ports = Array.from({ length: count }, (_, at) => first + at)
    const free = await Promise.all(ports.map(canListen))
    if (!free.includes(false)) return first
  }
  throw new Error('no free loopback port was found in a thousand tries')
}

/** Two processes of tests that choose at once get different blocks, although neither listens on its ports yet. */
async function takeBlock(): Promise<void> {
  for (;;) {
    const first = firstPort + blockSize * Math.floor((Math.random() * (lastPort - firstPort)) / blockSize)
    const guard = await listen(first)
    if (guard === undefined) continue
    guard.unref()
    block.nextPort = first + 1
    block.end = first + blockSize
    return
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = await listen(port)
  if (server === undefined) return false
  await new Promise((closed) => server.close(closed))
  return true
}

/** Undefined if the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** An empty folder that goes with everything in it when `lifetime` is over. */
export function temporaryFolder(lifetime: Lifetime): string {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-test-'))
  atEnd(lifetime, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
