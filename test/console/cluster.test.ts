/** The page of the cluster while its nodes come and go. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startCluster } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { Reader, startBrowser } from './reader.ts'

const scope = new Scope()
let browser: Browser
let nodes: readonly FahaoServer[]

before(
  async () => {
    browser = await startBrowser(scope)
    nodes = await startCluster(scope, [[], [], []])
  },
  { timeout: 120_000 },
)
after(() => scope.end())

describe('the page of a cluster', { timeout: 120_000 }, () => {
  test('moves a leader, drains its node, and names a node that has been killed and the new leaders', async () => {
    const [first, second] = nodes as [FahaoServer, FahaoServer, FahaoServer]
    const origin = first.http
    const reader = await Reader.come(browser, origin)
    const { page } = reader
    await reader.go('cluster')
    await page.getByText('takes part').nth(2).waitFor()
    await reader.assertAccessible('a cluster')

    await reader.act('Move a leader')
    const dialog = page.locator('dialog[open]')
    await dialog.getByLabel('To the node').selectOption({ label: `127.0.0.1:${second.resp}` })
    await dialog.getByText(` 0 127.0.0.1:${second.resp}`).first().waitFor()
    await reader.finish('Move a leader')
    await page.getByText('pinned').first().waitFor()

    await second.kill('SIGKILL')
    await page
      .getByText(/Shards? [\d, ]+: led by 127\.0\.0\.1:\d+, before by 127\.0\.0\.1:\d+ \(failover\)/)
      .first()
      .waitFor()
    await reader.assertAccessible('a cluster after a failover')
    // The overview has the same, beside the errors.
    await reader.go('')
    await page.getByText('(failover)').first().waitFor()
    await page.getByText(/^Figures of the \d nodes that answer/).waitFor()
    await reader.assertAccessible('the overview of a cluster')
    await reader.go('cluster')

    await reader.act('Drain this node')
    await reader.finish('Drain this node')
    await page.getByText('draining').first().waitFor()
    await reader.act('End the drain')
    await reader.finish('End the drain')
    assert.deepEqual(reader.faults, [])
  })
})
