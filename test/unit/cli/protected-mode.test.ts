/** Protected mode: when a server may listen, and how the first administrator comes to be. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { missingUsers, protect } from '../../../src/cli/protected-mode.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { startNode } from '../../../src/node/start.ts'
import { cheapPasswords } from '../auth/open-access.ts'

async function nodeWith(test: TestContext, flags: Record<string, string | boolean>) {
  const { config } = loadConfig({ flags: { engine: 'memory:', ...flags } })
  const node = await startNode(config, { passwords: cheapPasswords() })
  test.after(() => node.close())
  return node
}

describe('protected mode', () => {
  for (const [setting, address] of [
    ['resp', '0.0.0.0:1'],
    ['http', '[::]:1'],
    ['resp', '192.168.1.7:1'],
    ['http', 'ids.example.org:1'],
    ['resp', '127.0.0.1.example.org:1'],
    ['compat-http', 'leaf=0.0.0.0:1'],
  ] as const) {
    test(`refuses ${setting} ${address} without users, and says what to do`, async (test) => {
      const node = await nodeWith(test, { [setting]: address })
      await assert.rejects(
        protect(node, {}, false),
        /other machines can reach .*:1, and there are no users; .*FAHAO_ADMIN_PASSWORD.*--insecure/,
      )
      assert.equal(node.access.users.areStored, false)
    })
  }

  test('permits loopback, --insecure, and any address once there are users', async (test) => {
    for (const address of ['127.0.0.1:1', '127.9.9.9:1', '[::1]:1', 'localhost:1', 'LOCALHOST:1']) {
      await protect(await nodeWith(test, { resp: address, http: address }), {}, false)
    }
    await protect(await nodeWith(test, { resp: '0.0.0.0:1', insecure: true }), {}, false)
    const node = await nodeWith(test, { resp: '0.0.0.0:1' })
    await protect(node, { FAHAO_ADMIN_PASSWORD: 'first' }, false)
    await protect(node, {}, false)
    await protect(node, { FAHAO_ADMIN_PASSWORD: 'second' }, false)
    const login = (password: string) => node.access.login('admin', password, '10.0.0.1')
    assert.equal((await login('first')).unrestricted, true)
    await assert.rejects(login('second'), /WRONGPASS|invalid username-password/)
  })

  test('names FAHAO_ADMIN_PASSWORD where its password is too long', async (test) => {
    const env = { FAHAO_ADMIN_PASSWORD: 'x'.repeat(513) }
    await assert.rejects(
      protect(await nodeWith(test, {}), env, false),
      /^FahaoError: FAHAO_ADMIN_PASSWORD is longer/,
    )
  })

  test('names the users of compat-user that do not exist, once there are users', async (test) => {
    const node = await nodeWith(test, {
      compat: 'leaf idbuilder',
      'compat-user': 'leaf=ghost idbuilder=admin',
    })
    assert.deepEqual(missingUsers(node), [])
    await protect(node, { FAHAO_ADMIN_PASSWORD: 'first' }, false)
    const [sentence, ...others] = missingUsers(node)
    assert.match(
      sentence!,
      /^compat-user leaf=ghost: there is no user 'ghost', so requests without credentials/,
    )
    assert.deepEqual(others, [])
  })

  test('makes an administrator again where all users were removed', async (test) => {
    const node = await nodeWith(test, { resp: '0.0.0.0:1' })
    await protect(node, { FAHAO_ADMIN_PASSWORD: 'first' }, false)
    const stored = (await node.engine.read('users/admin'))!
    const removed = { ...JSON.parse(stored.value), revision: 2, change: 'x', removed: true }
    await node.engine.write('users/admin', JSON.stringify(removed), stored.version)
    await new Promise((resolve) => setImmediate(resolve))
    await assert.rejects(protect(node, {}, false), /there are no users/)
    await protect(node, { FAHAO_ADMIN_PASSWORD: 'second' }, false)
    assert.equal((await node.access.login('admin', 'second', '10.0.0.1')).user, 'admin')
  })

  test('makes an administrator with a password that is printed once, on a terminal', async (test) => {
    const node = await nodeWith(test, { http: '0.0.0.0:1' })
    const { write } = process.stdout
    let printed = ''
    process.stdout.write = ((text: string) => {
      printed += text
      return true
    }) as typeof write
    try {
      await protect(node, {}, true)
    } finally {
      process.stdout.write = write
    }
    // A line to paste into a shell: `>NEW` would be a file there.
    assert.match(
      printed,
      /^It is shown this once\. Change it with: fahao user set admin resetpass --password/m,
    )
    const [, password] = /^ {2}(\S{32})$/m.exec(printed) ?? []
    assert.equal((await node.access.login('admin', password!, '10.0.0.1')).user, 'admin')
  })
})
