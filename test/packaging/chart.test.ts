/** The plain manifests of Kubernetes: rendered from the chart as it stands, and what they describe starts here. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { startEtcd } from '../launch/etcd.ts'
import { headerOf, manifestFiles } from './chart.ts'
import {
  idsOfOrder,
  type Manifest,
  password,
  podsOf,
  readImage,
  readManifest,
  root,
  startContainers,
} from './containers.ts'

function workloadOf(manifests: readonly Manifest[]): Manifest {
  return manifests.find(({ kind }) => /^(?:StatefulSet|Deployment)$/.test(kind))!
}

describe('the chart', () => {
  test('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const chart = parse(readFileSync(join(root, 'packaging', 'helm', 'fahao', 'Chart.yaml'), 'utf8'))
    assert.deepEqual([chart.version, chart.appVersion], [version, version])
  })

  for (const file of manifestFiles) {
    test(`has been rendered into ${file} since its last change`, () => {
      const text = readFileSync(join(root, 'packaging', 'kubernetes', file), 'utf8')
      assert.ok(text.startsWith(headerOf(file)), 'render it again: npm run test:chart -- --write')
    })

    test(`keeps root, writing and every capability from the pods of ${file}`, () => {
      const { spec } = workloadOf(readManifest(file)).spec.template
      const { securityContext } = spec.containers[0]
      assert.equal(`${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`, readImage().user)
      assert.equal(spec.securityContext.runAsNonRoot, true)
      assert.equal(spec.automountServiceAccountToken, false)
      assert.deepEqual(securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    })

    test(`gives the pods of ${file} the time to stop that they ask for`, () => {
      const { terminationGracePeriodSeconds, containers } = workloadOf(readManifest(file)).spec.template.spec
      const [{ env, lifecycle }] = containers
      const shutdown = env.find(({ name }: { name: string }) => name === 'FAHAO_SHUTDOWN_TIMEOUT').value
      const [callTimeout, grace] = [5, 1]
      const own = Number.parseInt(shutdown, 10) + callTimeout + grace
      assert.ok(terminationGracePeriodSeconds > lifecycle.preStop.sleep.seconds + own)
    })
  }

  test('describes one node, which answers each of its probes', async (t) => {
    const manifests = readManifest('one-node.yaml')
    const [node] = await startContainers(t, podsOf(manifests, { 'fahao-admin': password }))
    const [container] = workloadOf(manifests).spec.template.spec.containers
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
      assert.equal((await fetch(node!.http + probe.httpGet.path)).status, 200)
    assert.deepEqual(await idsOfOrder(t, [node!.resp]), [1n])
  })

  test('describes a cluster on etcd, whose nodes announce the addresses of their pods', async (t) => {
    const etcd = await startEtcd(t)
    const hosts = etcd.members.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join(',')
    const manifests = readManifest('cluster-etcd.yaml')
    const pods = podsOf(manifests, { 'fahao-admin': password })
    const headless = manifests.find(({ kind, spec }) => kind === 'Service' && spec.clusterIP === 'None')!
    assert.equal(workloadOf(manifests).spec.serviceName, headless.metadata.name)
    assert.deepEqual(
      pods.map(({ env }) => env.FAHAO_ANNOUNCE),
      [1, 2, 3].map((host) => `10.0.0.${host}:7379`),
    )
    const nodes = await startContainers(t, pods, {
      'etcd-0.etcd:2379,etcd-1.etcd:2379,etcd-2.etcd:2379': hosts,
    })
    for (const { http } of nodes) await sees(http, pods.length)
  })

  test('describes a fleet on a database, whose URL is in a secret', () => {
    const manifests = readManifest('fleet-mariadb.yaml')
    const pods = podsOf(manifests, { 'fahao-admin': password, 'fahao-engine': 'mysql://u:p@h/d' })
    assert.equal(workloadOf(manifests).kind, 'Deployment')
    assert.deepEqual(
      pods.map(({ env }) => env.FAHAO_ENGINE),
      Array(3).fill('mysql://u:p@h/d'),
    )
  })
})

/** Resolves when a node sees as many nodes of its cluster. */
async function sees(http: string, count: number): Promise<void> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  for (;;) {
    const answer = await fetch(`${http}/v1/cluster`, { headers: { authorization } })
    assert.equal(answer.status, 200)
    if (((await answer.json()) as { nodes: unknown[] }).nodes.length === count) return
    await pause(50)
  }
}
