/** One version for everything: both packages, the lock file, the chart, its plain manifests, and the changelog's section. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { withSection } from './readiness.ts'

/** A version as npm and the tags have it, pre-releases included. */
const versionForm = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** Writes the version wherever the present one is. The plain manifests are rendered by `npm run test:chart -- --write` then. */
export function setVersion(version: string): void {
  if (!versionForm.test(version))
    throw new Error(`${version} is no version: write it as 1.2.3 or 1.2.3-rc.1.`)
  const changelog = withSection(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10))
  const lock = JSON.parse(read('package-lock.json'))
  const present: string = JSON.parse(read('package.json')).version
  for (const each of [lock, lock.packages[''], lock.packages.client]) each.version = version
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
  for (const path of ['package.json', 'client/package.json'])
    writeFileSync(path, read(path).replace(/^(\s*"version": )"[^"]*"/m, `$1"${version}"`))
  const exactly = new RegExp(`(?<![\\d.])${present.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')
  const shown = [
    'packaging/helm/fahao/{Chart.yaml,values.yaml,ci/*.yaml,templates/*.tpl}',
    'docs/operating/{containers,installing}.md',
  ]
  for (const path of globSync(shown)) writeFileSync(path, read(path).replace(exactly, version))
  writeFileSync('CHANGELOG.md', changelog)
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}
