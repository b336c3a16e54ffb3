/** The chart, and the plain manifests that are rendered from it. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './containers.ts'

/** The folder of the chart. */
export const chart = join(root, 'packaging', 'helm', 'fahao')
/** The plain manifests, in packaging/kubernetes. */
export const manifestFiles = ['one-node.yaml', 'cluster-etcd.yaml', 'fleet-mariadb.yaml'] as const

/** The values that a plain manifest is rendered with, from the chart's folder. */
export function valuesOf(file: string): string {
  return `ci/${file.replace('.yaml', '-values.yaml')}`
}

/** The first lines of a plain manifest: how it was made, and a digest of what it was made from. */
export function headerOf(file: string): string {
  const parts = [
    'Chart.yaml',
    'values.yaml',
    ...globSync('templates/*.{yaml,tpl}', { cwd: chart }).sort(),
    valuesOf(file),
  ]
  const digest = createHash('sha256')
  for (const part of parts) digest.update(`${part}\n`).update(readFileSync(join(chart, part)))
  return `# Rendered from packaging/helm/fahao with ${valuesOf(file)}: npm run test:chart -- --write
# Name your image in it, and create the secrets that it names: docs/operating/containers.md
# sha256 of the chart: ${digest.digest('hex')}
`
}
