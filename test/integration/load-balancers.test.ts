/** The example of docs/operating/load-balancers.md, as it stands, in front of two nodes. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { startNginx } from '../launch/nginx.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { requireProgram, startProcess } from '../launch/process.ts'

const example = join(import.meta.dirname, '../../examples/nginx.conf')
const quiet = ['--log-level', 'warn']

test('the example of nginx asks each node in turn, and another one where a node cannot serve', async (t) => {
  const owner = await startFahao(t, { args: [...quiet, '--compat', 'leaf,tinyid'] })
  const other = await startFahao(t, { engine: owner.engine, args: [...quiet, '--compat', 'leaf,tinyid'] })
  const client = await owner.connect()
  await client.command('ID.CREATE', 'invoice', 'KIND', 'sequence')
  await client.command('ID.CREATE', 'user', 'KIND', 'segment', 'STEP', '1000')
  const base = await startExample(t, [other.http, owner.http])

  const users = await idsOf(() => ask(`${base}/v1/generators/user/next`), 10)
  assert.equal(new Set(users).size, 10)
  assert.ok(users.some((id) => id < 1000n) && users.some((id) => id > 1000n), `one node gave all: ${users}`)

  // A strict generator is served by the owner of the file alone; the other node answers 503.
  assert.equal((await ask(`${other.http}/v1/generators/invoice/next`)).status, 503)
  const invoices = await idsOf(() => ask(`${base}/v1/generators/invoice/next`), 10)
  assert.deepEqual(
    invoices,
    invoices.map((_, at) => BigInt(at + 1)),
  )
  const seen = async (url: string) => Number((await ask(`${url}/v1/generators/user/next`)).status)
  assert.deepEqual([await seen(base), await seen(base)], [200, 200], 'no node was set aside')

  assert.equal((await ask(`${base}/api/segment/get/user`, 'GET')).status, 200)
  await other.kill('SIGTERM')
  const late = await idsOf(() => ask(`${base}/v1/generators/user/next`), 10)
  assert.equal(new Set([...users, ...late]).size, 20)
})

test('a cache that keeps whatever it may gives each caller ids of its own', async (t) => {
  const paths = [
    '/api/segment/get/user',
    '/api/snowflake/get/any',
    '/id-builder/increase-seq-id?code=user',
    '/id-builder/increase-seq-id-str?code=user',
    '/tinyid/id/nextId?bizType=user&token=open-0123456789ab',
    '/tinyid/id/nextIdSimple?bizType=user&token=open-0123456789ab&batchSize=3',
    '/tinyid/id/nextSegmentIdSimple?bizType=user&token=open-0123456789ab',
  ]
  const node = await startFahao(t, {
    args: [...quiet, '--compat', 'leaf,tinyid,idbuilder', '--tinyid-tokens', 'open-0123456789ab=user'],
  })
  const { httpPort } = await startNginx(t, { http: { backends: [node.http] }, cache: true })
  const base = `http://127.0.0.1:${httpPort}`
  // Before there is such a generator: a failure must not be kept either.
  for (const path of paths.slice(0, 1)) assert.equal((await ask(base + path, 'GET')).status, 500)
  const client = await node.connect()
  await client.command('ID.CREATE', 'user', 'KIND', 'segment', 'STEP', '1000', 'FORMAT', 'u{id}')
  for (const [path, method] of [
    ...paths.map((path) => [path, 'GET'] as const),
    ['/v1/generators/user/next', 'POST'] as const,
  ]) {
    const answers = [await ask(base + path, method), await ask(base + path, method)]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      path,
    )
    assert.notEqual(answers[0]!.body, answers[1]!.body, path)
  }
})

async function startExample(t: TestContext, nodes: readonly string[]): Promise<string> {
  const folder = temporaryFolder(t)
  const port = await freePort()
  const text = readFileSync(example, 'utf8')
  const servers = nodes.map((url) => `server ${new URL(url).host} max_fails=0;`).join(' ')
  const ours = text
    .replace(/( +server \S+ max_fails=0;\n)+/, `${servers}\n`)
    .replace('listen 7480', `listen 127.0.0.1:${port}`)
  assert.ok(ours.includes(servers) && ours.includes(`:${port}`))
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  for (const place of places) mkdirSync(join(folder, place))
  writeFileSync(join(folder, 'fahao.conf'), ours)
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${join(folder, 'pid')}; error_log stderr;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      access_log off;
      ${places.map((place) => `${place}_temp_path ${join(folder, place)};`).join(' ')}
      include fahao.conf;
    }`,
  )
  await startProcess(t, {
    command: requireProgram('nginx'),
    args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'],
    readyWhen: { port },
  })
  return `http://127.0.0.1:${port}`
}

async function ask(url: string, method = 'POST'): Promise<{ status: number; body: string }> {
  const answer = await fetch(url, { method })
  return { status: answer.status, body: await answer.text() }
}

async function idsOf(
  draw: () => Promise<{ status: number; body: string }>,
  count: number,
): Promise<bigint[]> {
  const ids: bigint[] = []
  while (ids.length < count) {
    const { status, body } = await draw()
    assert.equal(status, 200, body)
    const [id] = JSON.parse(body).ids as string[]
    ids.push(BigInt(id!))
  }
  return ids
}
