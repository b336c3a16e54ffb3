/** Credentials of the command line: what a request carries, and users and tokens by the verbs. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { authorizationOf } from '../../../src/cli/credentials.ts'
import { program } from '../../../src/cli/main.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { accessOf } from '../auth/open-access.ts'
import { fakeNode } from '../http/fake-node.ts'

const all = () => program(() => true)

test('a request carries a user, else the token of a file, else that of the environment', async (t) => {
  const tokenFile = join(temporaryFolder(t), 'token')
  writeFileSync(tokenFile, 'fahao_a_b\n')
  const env = { FAHAO_PASSWORD: 'p:w', FAHAO_TOKEN: 'fahao_c_d' }
  const basic = `Basic ${Buffer.from('alice:p:w').toString('base64')}`
  assert.equal(await authorizationOf({ user: 'alice', tokenFile }, env), basic)
  assert.equal(await authorizationOf({ tokenFile }, env), 'Bearer fahao_a_b')
  assert.equal(await authorizationOf({}, env), 'Bearer fahao_c_d')
  assert.equal(await authorizationOf({}, {}), undefined)
  await assert.rejects(
    authorizationOf({ tokenFile: `${tokenFile}x` }, env),
    /--token-file: .* cannot be read/,
  )
})

/** A server with the administrator `admin`, and the verbs with its password; each resolves to what it prints. */
async function start(t: TestContext) {
  const access = await accessOf({ admin: ['on', '>root', '~*', '+@all'] })
  const app = buildHttpApp({ node: Object.assign(fakeNode(), { access }), host: '127.0.0.1' })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const run = async (env: Record<string, string>, ...words: string[]): Promise<string> => {
    const printed: string[] = []
    const before = { ...process.env }
    const write = t.mock.method(process.stdout, 'write', (text: string) => printed.push(text) > 0)
    Object.assign(process.env, env)
    try {
      await (await all()).parseAsync(['node', 'fahao', ...words, '--url', url])
    } finally {
      process.env = before
      write.mock.restore()
    }
    return printed.join('')
  }
  return { access, run }
}

const admin = { FAHAO_USER: 'admin', FAHAO_PASSWORD: 'root' }

describe('the command line of a server with users', () => {
  test('sets, lists, shows and removes users', async (t) => {
    const { access, run } = await start(t)
    await run(admin, 'user', 'set', 'alice', 'on', '~order*', '+@issue')
    assert.equal(access.users.access('alice')?.reaches('order'), true)
    assert.match(await run(admin, 'user', 'list'), /alice +on +0 +~order\* +-@all \+@connection \+@issue/)
    assert.match(await run(admin, 'user', 'show', 'alice'), /alice +on/)
    await assert.rejects(run(admin, 'user', 'set', 'alice', '>pw'), /a password is no argument/)
    assert.match(await run(admin, 'user', 'set', 'alice', '-incr', '+incr', '-id.next'), /\+incr -id\.next/)
    await assert.rejects(run(admin, 'user', 'set', 'alice', '--of', 'f'), /unknown option '--of'; --help/)
    assert.match(await run(admin, 'user', 'remove', 'alice', '--yes'), /removed user alice/)
    assert.equal(access.users.get('alice'), undefined)
  })

  test('creates a token that the next verb uses, lists it, and revokes it', async (t) => {
    const { run } = await start(t)
    const text = (await run(admin, 'token', 'create', '--label', 'ci', '--expires', '1h', '+id.list')).trim()
    const token = { FAHAO_TOKEN: text }
    assert.match(await run(token, 'list'), /no generators/)
    await assert.rejects(run(token, 'user', 'list'), /no permissions to run .* both permit it: \+acl\|list$/)
    const [, id] = text.split('_')
    assert.match(await run(admin, 'token', 'list'), new RegExp(`${id} +admin +ci .* yes`))
    assert.match(await run(admin, 'token', 'revoke', id!, '--yes'), /revoked/)
    await assert.rejects(run(token, 'list'), /expired or revoked.*; give --user NAME with its password/)
    const second = (await run(admin, 'token', 'create', '+@all', '-@admin')).trim()
    assert.match(await run(admin, 'token', 'revoke', second, '--yes'), /^revoked token [0-9a-f]{16}\n$/)
    await assert.rejects(
      run({}, 'list'),
      /^FahaoError: Authentication required; give --user NAME .* FAHAO_TOKEN/,
    )
  })

  test('asks for the password of the caller first, and twice for a new one', async (t) => {
    const { access, run } = await start(t)
    const asked = typing(t, ['root', 'pw', 'pw', 'pw', 'px'])
    await run({ FAHAO_USER: 'admin', FAHAO_PASSWORD: '' }, 'user', 'set', 'carol', 'on', '--password')
    assert.equal(asked(), 'Password of admin: New password of carol: The new password of carol again: ')
    assert.equal((await access.login('carol', 'pw', '127.0.0.1')).user, 'carol')
    await assert.rejects(run(admin, 'user', 'set', 'dave', '--password'), /the two passwords differ; nothing/)
    assert.equal(access.users.get('dave'), undefined)
  })

  test('asks before it removes a user, revokes a token or drops a namespace, and does nothing without a yes', async (t) => {
    const { access, run } = await start(t)
    await run(admin, 'user', 'set', 'alice', 'on', '~*', '+@all')
    const token = (await run(admin, 'token', 'create', '--of-user', 'alice')).trim()
    await run(admin, 'namespace', 'set', 'shop', '--match', 'shop:*')
    const verbs = [
      ['namespace', 'drop', 'shop'],
      ['token', 'revoke', token],
      ['user', 'remove', 'alice'],
    ]
    for (const verb of verbs)
      await assert.rejects(
        run(admin, ...verb),
        /cannot be undone \(the .*nothing was changed; repeat it with --yes/,
      )
    const asked = typing(t, ['no', 'n', '', 'yes', 'y', 'YES'])
    for (const verb of verbs) await assert.rejects(run(admin, ...verb), /nothing was changed/)
    assert.ok(access.users.get('alice'))
    assert.match(await run({ FAHAO_TOKEN: token }, 'namespace', 'list'), /shop/)
    for (const verb of verbs) assert.match(await run(admin, ...verb), /dropped|revoked|removed/)
    assert.equal(asked().match(/Go on\? \(yes or no\): /g)?.length, 6)
    assert.equal(access.users.get('alice'), undefined)
  })

  test('names --password-stdin where there is no terminal to ask for a new password', async (t) => {
    const { run } = await start(t)
    standardInput(t, new PassThrough())
    await assert.rejects(run(admin, 'user', 'set', 'erin', '--password'), /give it with --password-stdin, or/)
  })
})

/** A terminal on which these answers are typed, one for each question. Returns what was asked. */
function typing(t: TestContext, answers: string[]): () => string {
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  standardInput(t, terminal)
  let questions = ''
  t.mock.method(process.stderr, 'write', (text: string) => {
    questions += text.trimStart()
    if (text.endsWith(': ')) setImmediate(() => terminal.write(`${answers.shift()}\r`))
    return true
  })
  return () => questions
}

function standardInput(t: TestContext, value: PassThrough): void {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { configurable: true, value })
  t.after(() => Object.defineProperty(process, 'stdin', before))
}
