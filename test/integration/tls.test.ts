/** A cluster whose nodes speak TLS, and real clients of it, alone and as clients of a cluster. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect, setDefaultCACertificates } from 'node:tls'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { type CertificateFiles, makeCertificates } from '../launch/certificates.ts'
import { settled } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { entry, firstSteps } from './cli-program.ts'
import { assertIncreasing } from './examples.ts'

const scope = new Scope()
const names = Array.from({ length: 12 }, (_, at) => `order:${at}`)
let files: CertificateFiles
/** It answers MOVED. Clients may present certificates. */
let moving: FahaoServer
/** It forwards. */
let forwarding: FahaoServer

before(async () => {
  files = await makeCertificates(temporaryFolder(scope))
  // fetch takes no other authority.
  setDefaultCACertificates([readFileSync(files.ca, 'utf8')])
  const etcd = await startEtcd(scope)
  const start = (...args: string[]) =>
    startFahao(scope, { engine: etcd.url('ids'), tls: files, args: ['--cluster', 'test', ...args] })
  ;[moving, forwarding] = await Promise.all([start('--tls-client-auth', 'optional'), start('--forward')])
  await settled([moving, forwarding])
  const client = await forwarding.connect()
  for (const name of names) assert.equal(await client.command('ID.CREATE', name, 'KIND', 'sequence'), 'OK')
  await client.close()
})
after(() => scope.end())

const ca = () => readFileSync(files.ca)

/** Draws from all names, some of which each node leads. */
async function drawTwice(incr: (name: string) => Promise<unknown>): Promise<void> {
  for (const name of names) assertIncreasing([await incr(name), await incr(name)] as number[])
}

describe('rediss://', () => {
  test('is spoken by ioredis, alone and in a cluster', async (t) => {
    const client = new Redis(`rediss://127.0.0.1:${forwarding.resp}`, { tls: { ca: ca() } })
    t.after(() => client.disconnect())
    await drawTwice((name) => client.incr(name))
    const cluster = new Cluster([{ host: '127.0.0.1', port: moving.resp }], {
      redisOptions: { tls: { ca: ca() } },
    })
    t.after(() => cluster.disconnect())
    await drawTwice((name) => cluster.incr(name))
  })

  test('is spoken by node-redis, alone and in a cluster', async (t) => {
    const socket = { tls: true as const, ca: ca() }
    const url = ({ resp }: FahaoServer) => `rediss://127.0.0.1:${resp}`
    const client = await createClient({ url: url(forwarding), socket }).connect()
    t.after(() => client.destroy())
    await drawTwice((name) => client.incr(name))
    const cluster = createCluster({ rootNodes: [{ url: url(moving) }], defaults: { socket } })
    await cluster.connect()
    t.after(() => cluster.destroy())
    await drawTwice((name) => cluster.incr(name))
  })

  test('is spoken by redis-py, alone and in a cluster', async () => {
    const program = `
import sys, redis
ca, alone, cluster, *names = sys.argv[1:]
clients = [
    redis.from_url('rediss://127.0.0.1:' + alone, ssl_ca_certs=ca),
    redis.RedisCluster(host='127.0.0.1', port=int(cluster), ssl=True, ssl_ca_certs=ca),
]
for client in clients:
    for name in names:
        assert client.incr(name) + 1 == client.incr(name), name
print('done')
`
    const ports = [`${forwarding.resp}`, `${moving.resp}`]
    const printed = await runProgram(['/usr/bin/python3', '-c', program, files.ca, ...ports, ...names])
    assert.equal(printed, 'done\n')
  })

  test('is spoken by redis-cli, alone and in a cluster', async () => {
    const cli = async ({ resp }: FahaoServer, ...args: string[]) =>
      Number(await runProgram(['redis-cli', '--tls', '--cacert', files.ca, '-p', `${resp}`, ...args]))
    await drawTwice((name) => cli(forwarding, 'INCR', name))
    await drawTwice((name) => cli(moving, '-c', 'INCR', name))
  })
})

describe('https://', () => {
  test('is spoken to clients, and between nodes', async () => {
    for (const { http } of [moving, forwarding]) {
      await drawTwice(async (name) => {
        const answer = await fetch(`${http}/v1/generators/${name}/next`, { method: 'POST' })
        return ((await answer.json()) as { ids: string[] }).ids[0]
      })
    }
  })

  test('is spoken by the command line', async () => {
    const run = ['next', names[0]!, '--url', moving.http, '--ca', files.ca]
    assert.match(await runProgram([process.execPath, entry, ...run]), /^\d+\n$/)
  })
})

test('the first steps that a server prints work as they are printed', async (t) => {
  const server = await startFahao(t, { tls: files, args: ['--tls-client-auth', 'required'] })
  const steps = (await firstSteps(server)).filter((step) => /^(?:redis-cli|curl)/.test(step))
  assert.ok(steps.length > 2)
  for (const step of steps) assert.match(await runProgram(['sh', '-c', step]), /OK|\d/)
})

test('a new certificate is used after SIGHUP, while clients go on', async (t) => {
  const folder = temporaryFolder(t)
  const own = { ca: files.ca, cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const put = ({ cert, key }: CertificateFiles) => {
    copyFileSync(cert, own.cert)
    copyFileSync(key, own.key)
  }
  put(files)
  const server = await startFahao(t, { tls: own, args: ['--auto-create', '*=sequence'] })
  const client = await server.connect()
  assert.equal(await client.command('INCR', 'order'), 1n)
  put(await makeCertificates(join(files.ca, '..'), 'renewed'))
  server.signal('SIGHUP')
  while ((await shownBy(t, server)) !== 'renewed') await new Promise(setImmediate)
  assert.equal(await client.command('INCR', 'order'), 2n)
})

/** The name in a server's certificate. */
function shownBy(t: TestContext, { resp }: FahaoServer): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: resp, ca: ca() }, () => {
      resolve(socket.getPeerCertificate().subject.CN?.toString())
      socket.destroy()
    })
    t.after(() => void socket.destroy())
    socket.on('error', reject)
  })
}
