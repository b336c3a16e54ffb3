/** Clients whose end never arrives, as after the loss of their network: the kernel probes a silent connection. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { makeCertificates } from '../../launch/certificates.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { openCertificates } from '../listening/open-certificates.ts'
import { frame, Peer, serve } from './peer.ts'

const retransmission = '01'
const keepAlive = '02'
const ticksPerSecond = 100

/** The timer of the server's end of a connection, and after how many seconds it fires (proc_net_tcp.txt of Linux). */
async function timerOf({ localPort, remotePort }: Socket): Promise<{ kind: string; seconds: number }> {
  const portOf = (address = '') => Number.parseInt(address.split(':')[1]!, 16)
  for (;;) {
    const lines = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
    const [, , , , , timer = ''] = lines.find(
      ([, local, remote]) => portOf(local) === remotePort && portOf(remote) === localPort,
    )!
    const [kind = '', ticks = ''] = timer.split(':')
    if (kind !== retransmission) return { kind, seconds: Number.parseInt(ticks, 16) / ticksPerSecond }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function assertProbed({ kind, seconds }: { kind: string; seconds: number }): void {
  assert.equal(kind, keepAlive)
  assert.ok(seconds > 30 && seconds <= 60, `after ${seconds} s`)
}

test('a silent connection is probed after a minute', async (t) => {
  const { server } = await serve(t)
  const peer = await Peer.to(server)
  await peer.ask(frame('PING'), '+OK\r\n')
  assertProbed(await timerOf(peer.socket))
})

test('so is a silent connection with TLS', async (t) => {
  const files = await makeCertificates(temporaryFolder(t))
  const tls = await openCertificates(t, files)
  const { server } = await serve(t, { tls })
  const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: readFileSync(files.ca) })
  const peer = Peer.over(socket)
  await once(socket, 'secureConnect')
  await peer.ask(frame('PING'), '+OK\r\n')
  assertProbed(await timerOf(socket))
})
