/** The console while what it shows is away: the store, the leader of a generator, the login of its reader, and the node itself. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { settled, viewOf } from '../launch/cluster.ts'
import { type EtcdCluster, startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { askAsAdmin, password } from './busy-cluster.ts'
import { pages, Reader, startBrowser } from './reader.ts'

const scope = new Scope()
const authorization = { authorization: `Basic ${btoa(`admin:${password}`)}` }
let browser: Browser
let etcd: EtcdCluster
let nodes: readonly FahaoServer[]

before(
  async () => {
    browser = await startBrowser(scope)
    etcd = await startEtcd(scope)
    nodes = await Promise.all(
      [0, 1, 2].map(() =>
        startFahao(scope, {
          engine: etcd.url('ids'),
          args: ['--cluster', 'away'],
          env: { FAHAO_ADMIN_PASSWORD: password },
          readyWithinMs: 60_000,
        }),
      ),
    )
    await settled(nodes, authorization)
    for (const [name, kind] of [
      ['order', 'sequence'],
      ['event', 'snowflake'],
    ] as const) {
      assert.ok((await askAsAdmin(nodes[0]!, 'PUT', `/v1/generators/${name}`, { kind })).ok)
      assert.ok((await askAsAdmin(nodes[0]!, 'POST', `/v1/generators/${name}/next`)).ok)
    }
  },
  { timeout: 120_000 },
)
after(() => scope.end())

async function administrator(node: FahaoServer): Promise<Reader> {
  const reader = await Reader.come(browser, node.http)
  await reader.go('')
  await reader.logIn('admin', password)
  await reader.page.getByRole('heading', { name: 'Overview' }).waitFor()
  return reader
}

describe('the console while something is away', { timeout: 280_000 }, () => {
  test('says on every page that the store does not answer, and comes back by itself', async () => {
    const reader = await administrator(nodes[0]!)
    const { page } = reader
    await reader.go('generators/event')
    await page.getByText('snowflake: ids made of').waitFor()
    for (const member of etcd.members) member.freeze()
    try {
      await page.getByText('in service, without the store').waitFor()
      for (const each of pages) {
        await reader.go(each)
        await reader.loaded()
      }
      await reader.go('audit')
      await page.getByRole('link', { name: 'UNAVAILABLE' }).first().waitFor()
    } finally {
      for (const member of etcd.members) member.thaw()
    }
    await page.getByText('in service', { exact: true }).waitFor()
    await page.getByRole('cell', { name: 'create', exact: true }).first().waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    assert.deepEqual(reader.faults, [])
  })

  test('asks for a login, and says why, when a token expires while a page is open', async () => {
    const response = await askAsAdmin(nodes[0]!, 'POST', '/v1/tokens', { label: 'short', expires: '6s' })
    const { token } = (await response.json()) as { token: string }
    const reader = await Reader.come(browser, nodes[0]!.http)
    const { page } = reader
    await reader.go('generators/order')
    await page.getByLabel('Or a token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'order', level: 1 }).waitFor()
    await page.getByText('Your login has ended').waitFor()
    await reader.assertAccessible('a login that has ended')
    await reader.logIn('admin', password)
    // On the page that the reader was on.
    await page.getByRole('heading', { name: 'order', level: 1 }).waitFor()
  })

  test('names the new leader of a generator whose leader is killed while its page is open', async () => {
    const described = async () => {
      const response = await askAsAdmin(nodes[0]!, 'GET', '/v1/generators/order')
      return (await response.json()) as { leader: string }
    }
    const { leader } = await described()
    const lost = nodes.find(({ resp }) => leader.endsWith(`:${resp}`))!
    const other = nodes.find((node) => node !== lost)!
    const reader = await administrator(other)
    const { page } = reader
    await reader.go('generators/order')
    await page.getByRole('link', { name: leader }).waitFor()
    await lost.kill('SIGKILL')
    const rest = nodes.filter((node) => node !== lost)
    const pattern = new RegExp(rest.map(({ resp }) => `^127\\.0\\.0\\.1:${resp}$`).join('|'))
    await page.getByRole('link', { name: pattern }).waitFor()
    await reader.act('Draw a sample')
    assert.match(await reader.finish('Draw a sample'), /"ids"/)
    await lost.restart()
    await settled(nodes, authorization)
    assert.deepEqual(reader.faults, [])
  })

  test('says that its own node does not answer, and shows its figures again when it does', async () => {
    const [, second] = nodes as [FahaoServer, FahaoServer, FahaoServer]
    const reader = await administrator(second)
    const { page } = reader
    await reader.go('cluster')
    await page.getByText('takes part').nth(2).waitFor()
    await second.kill('SIGKILL')
    await page.getByText('the node does not answer', { exact: true }).waitFor()
    await page
      .getByText(/The node does not answer \(/)
      .first()
      .waitFor()
    await second.restart()
    await page.getByText('in service', { exact: true }).waitFor()
    await page
      .getByText(/The node does not answer \(/)
      .first()
      .waitFor({ state: 'detached' })
    assert.equal((await viewOf(second, authorization)).nodes.length, 3)
  })
})
