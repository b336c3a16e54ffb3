/** The image and compose.yaml: the entry point and the settings of each container start, issue and stop here as they stand. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import {
  composeNames,
  composeNodes,
  idsOfOrder,
  mariaDbUrl,
  readImage,
  startContainers,
} from './containers.ts'

describe('the image', () => {
  test('runs as a user by number, which Kubernetes can tell from root', () => {
    assert.match(readImage().user, /^[1-9]\d*:[1-9]\d*$/)
  })

  test('has a health check that fails once the server hangs, or is gone', async (t) => {
    const [node] = await startContainers(t, composeNodes('one'))
    assert.equal(await node!.health(), 0)
    node!.process.signal('SIGSTOP')
    assert.equal(await node!.health(), 1)
    await node!.process.kill()
    assert.equal(await node!.health(), 1)
  })
})

describe('compose.yaml', () => {
  test('has a node with its file', async (t) => {
    const [node] = await startContainers(t, composeNodes('one'))
    assert.deepEqual(await idsOfOrder(t, [node!.resp]), [1n])
    assert.deepEqual(await node!.process.kill('SIGTERM'), { code: 0, signal: null })
  })

  test('has a cluster of three nodes on etcd, where any node answers a plain client', async (t) => {
    const etcd = await startEtcd(t, { members: 3 })
    const nodes = await startContainers(t, composeNodes('etcd'), composeNames(etcd))
    const ids = await idsOfOrder(
      t,
      nodes.map(({ resp }) => resp),
    )
    assert.deepEqual(ids, [1n, 2n, 3n])
    for (const { process } of nodes)
      assert.deepEqual(await process.kill('SIGTERM'), { code: 0, signal: null })
  })

  test('has a fleet of two nodes on MariaDB', async (t) => {
    const database = await (await startMariaDb(t)).newDatabase()
    const nodes = await startContainers(t, composeNodes('mariadb'), { [mariaDbUrl]: database })
    const ids = await idsOfOrder(
      t,
      nodes.map(({ resp }) => resp),
    )
    assert.deepEqual(ids, [1n, 2n])
  })
})
