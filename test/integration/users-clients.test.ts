/** The lines of docs/reference/redis-clients.md with which clients log in, as the page has them: without and with TLS, alone and in a cluster. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setDefaultCACertificates } from 'node:tls'
import { type CertificateFiles, makeCertificates } from '../launch/certificates.ts'
import { settled } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { firstSteps } from './cli-program.ts'
import { assertIncreasing } from './examples.ts'

type Section = 'Users' | 'TLS'
/** What a client's program prints: ids, and the class and the words of an error. */
type Printed = { readonly ids: readonly number[]; readonly refused: string }
/** How a client reports that a user may not name a generator, and that the password is wrong. */
type Errors = { readonly permission: RegExp; readonly password: RegExp }

const scope = new Scope()
const page = readFileSync(
  join(import.meta.dirname, '..', '..', 'docs', 'reference', 'redis-clients.md'),
  'utf8',
)
const names = Array.from({ length: 8 }, (_, at) => `order:${at}`)
const password = 'administrator'
const headers = { authorization: `Basic ${btoa(`admin:${password}`)}`, 'content-type': 'application/json' }
let files: CertificateFiles
let servers: ReadonlyMap<string, FahaoServer>

before(async () => {
  files = await makeCertificates(temporaryFolder(scope))
  // fetch takes no other authority.
  setDefaultCACertificates([readFileSync(files.ca, 'utf8')])
  const etcd = await startEtcd(scope)
  const start = async (section: Section, isCluster: boolean) => {
    const shared = {
      env: { FAHAO_ADMIN_PASSWORD: password },
      ...(section === 'TLS' && { tls: files }),
      ...(isCluster && { engine: etcd.url(section.toLowerCase()), args: ['--cluster', 'test'] }),
    }
    const nodes = [await startFahao(scope, shared)]
    // The first node makes the administrator.
    if (isCluster) {
      nodes.push(await startFahao(scope, shared))
      await settled(nodes, headers)
    }
    await setUp(nodes)
    return [`${section} ${isCluster}`, nodes[0]!] as const
  }
  const places = (['Users', 'TLS'] as const).flatMap((section) => [
    start(section, false),
    start(section, true),
  ])
  servers = new Map(await Promise.all(places))
})
after(() => scope.end())

for (const section of ['Users', 'TLS'] as const) {
  describe(section === 'TLS' ? 'with TLS' : 'without TLS', () => {
    for (const line of clientLines(section, 'js')) javascript(section, line)
    for (const line of clientLines(section, 'python')) python(section, line)
    redisCli(section)
  })
}

test('the first steps that a server prints log in, and work as they are printed', async (t) => {
  const server = await startFahao(t, { tls: files, env: { FAHAO_ADMIN_PASSWORD: password } })
  const steps = (await firstSteps(server)).filter((step) => /^(?:redis-cli|curl)/.test(step))
  assert.ok(steps.length > 2)
  for (const step of steps) {
    // Without a terminal, both ask for the password on stdin.
    const printed = await runProgram(['setsid', '--wait', 'sh', '-c', step], { input: `${password}\n` })
    assert.match(printed, /OK|^\d+$|"ids":\["\d+"\]/m, step)
  }
})

function javascript(section: Section, line: string): void {
  const constants = fenceOf(section, 'js').filter((each) => each.startsWith('const '))
  const isCluster = line.includes('Cluster(')
  const program = (password: string) => `
import { readFileSync, writeSync } from 'node:fs'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
${[...constants, `const client = ${line}`].map((each) => placed(each, { section, isCluster, password })).join('\n')}
const print = (printed) => process.exit(writeSync(1, JSON.stringify(printed)) && 0)
const textOf = (error) => error.constructor.name + ' ' + error.message
client.on('error', (error) => {
  const reason = error.lastNodeError ?? error
  if (reason.message.startsWith('WRONGPASS')) print({ ids: [], refused: textOf(reason) })
})
if ('destroy' in client) await client.connect()
const ids = []
for (const name of ${JSON.stringify([...names, ...names])}) ids.push(await client.incr(name))
print({ ids, refused: await client.incr('user').then(String, textOf) })
`
  const errors = { permission: /^SimpleError NOPERM /, password: /^SimpleError WRONGPASS / }
  check(line, errors, (password) =>
    runProgram([process.execPath, '--input-type=module', '-e', program(password)]),
  )
}

function python(section: Section, line: string): void {
  const isCluster = line.includes('Cluster(')
  const program = (password: string) => `
import json, redis
def text_of(error):
    return type(error).__name__ + ' ' + str(error)
ids, refused = [], ''
try:
    client = ${placed(line, { section, isCluster, password })}
    ids = [client.incr(name) for name in ${JSON.stringify([...names, ...names])}]
    client.incr('user')
except Exception as error:
    refused = text_of(error)
print(json.dumps({'ids': ids, 'refused': refused}))
`
  const password = isCluster
    ? /^RedisClusterException .*invalid username-password pair/s
    : /^(?:ResponseError|AuthenticationError) .*invalid username-password pair/
  check(line, { permission: /^NoPermissionError /, password }, (given) =>
    runProgram(['/usr/bin/python3', '-c', program(given)]),
  )
}

function redisCli(section: Section): void {
  const lines = fenceOf(section, 'sh').filter((line) => line.startsWith('redis-cli'))
  assert.equal(lines.length, 1)
  for (const isCluster of [false, true]) {
    const flag = isCluster ? ' -c' : ''
    test(`redis-cli${flag} draws, and prints the error of a refusal`, async () => {
      const line = placed(lines[0]!, { section, isCluster, password: '' })
      const run = (name: string, password = 'secret') =>
        runProgram(['sh', '-c', line.replace('redis-cli', `redis-cli${flag}`).replace('order', name)], {
          env: { REDISCLI_AUTH: password },
        })
      for (const name of names) assertIncreasing([Number(await run(name)), Number(await run(name))])
      assert.match(await run('user'), /^NOPERM /)
      assert.match(await run('order:0', 'wrong'), /^NOAUTH /)
    })
  }
}

/** Runs a client's program with the right password and with a wrong one. */
function check(line: string, errors: Errors, run: (password: string) => Promise<string>): void {
  test(`${/[\w.]+(?=\()/.exec(line)?.[0]} draws, and names the errors of refusals`, async () => {
    const right = JSON.parse(await run('secret')) as Printed
    assert.match(right.refused, errors.permission)
    assert.equal(right.ids.length, 2 * names.length)
    for (const at of names.keys()) assertIncreasing([right.ids[at]!, right.ids[at + names.length]!])
    const wrong = JSON.parse(await run('wrong')) as Printed
    assert.match(wrong.refused, errors.password)
  })
}

/** Makes the page's user, and generators. Resolves when each node knows the user. */
async function setUp(nodes: readonly FahaoServer[]): Promise<void> {
  const command = /^ACL SETUSER app .*/m.exec(page)?.[0]
  assert.ok(command)
  for (const name of [...names, 'user']) {
    const body = JSON.stringify({ kind: 'sequence' })
    const answer = await fetch(`${nodes[0]!.http}/v1/generators/${name}`, { method: 'PUT', headers, body })
    assert.ok(answer.ok, await answer.text())
  }
  const clients = await Promise.all(nodes.map((node) => node.connect()))
  for (const client of clients) assert.equal(await client.command('AUTH', 'admin', password), 'OK')
  assert.equal(await clients[0]!.command(...command.split(' ')), 'OK')
  for (const client of clients) {
    while ((await client.command('ACL', 'GETUSER', 'app')) === null) await new Promise(setImmediate)
    await client.close()
  }
}

/** A line of the page, with the address of a server, the file of its authority, and this password for `secret`. */
function placed(
  line: string,
  { section, isCluster, password }: { section: Section; isCluster: boolean; password: string },
): string {
  return line
    .replaceAll('ids.example', '127.0.0.1')
    .replaceAll('7379', `${servers.get(`${section} ${isCluster}`)!.resp}`)
    .replaceAll('ca.pem', files.ca)
    .replaceAll('secret', password)
}

/** The lines of the page's first block in a language below a heading. */
function fenceOf(section: Section, language: string): string[] {
  const [, below = ''] = page.split(`\n## ${section}\n`)
  return (below.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '')
    .split('\n')
    .filter((line) => line !== '')
}

/** Those that make a client. */
function clientLines(section: Section, language: string): string[] {
  const lines = fenceOf(section, language).filter((line) => !line.startsWith('const '))
  assert.ok(
    lines.length >= 2,
    `docs/reference/redis-clients.md has lost its lines of ${language} in ${section}`,
  )
  return lines
}
