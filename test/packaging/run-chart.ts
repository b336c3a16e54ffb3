/**
 * npm run test:chart: the chart through helm's lint, its templates through kubeconform and the types of Kubernetes, compose.yaml
 * through the loader of Compose, and the plain manifests beside what helm renders.
 * `node test/packaging/run-chart.ts SCHEMAS [--write | --package FILE]`, where FILE becomes the packed chart;
 * scripts/test-chart.sh calls it.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chart, headerOf, manifestFiles, valuesOf } from './chart.ts'
import { root } from './containers.ts'

const [schemas = '', flag, packed] = process.argv.slice(2)
const kubernetes = '1.37.0'
const folder = mkdtempSync(join(tmpdir(), 'fahao-chart-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

// A helm that go has built knows no version of Kubernetes that exists.
const render = ['template', 'fahao', chart, '--kube-version', kubernetes]

/** What must be refused, and by which word of the sentence. */
const refused: readonly (readonly [flags: readonly string[], word: RegExp])[] = [
  [[], /image is empty/],
  [['--set', 'image=x', '--set', 'replicas=3'], /replicas is above 1 on SQLite/],
  [['--set', 'image=x', '--set', 'cluster.name=ids'], /cluster.name on SQLite/],
  [['--set', 'image=x', '--set', 'engine.url=sqlite:/tmp/x.db'], /outside of \/data/],
  [['--set', 'image=x', '--set', 'engine.url=redis://x'], /engine/],
  [['--set', 'image=x', '--set', 'engine.url=mysql://u:p@h/d'], /engine.url has a password/],
  [['--set', 'image=x', '--set', 'config=mysql-proxy: 0.0.0.0:3306'], /mysql-proxy and compat-http/],
  [['--set', 'image=x', '--set', 'env[0].name=FAHAO_COMPAT_HTTP'], /mysql-proxy and compat-http/],
  [['--set', 'image=x', '--set', 'replica=3'], /replica/],
]

const rendered = globSync('ci/*-values.yaml', { cwd: chart })
  .sort()
  .map((values) => {
    console.log(`lint and render: ${values}`)
    run('helm', 'lint', '--strict', chart, '--values', join(chart, values))
    const text = run('helm', ...render, '--values', join(chart, values))
    const file = join(folder, values.replace('ci/', ''))
    writeFileSync(file, text)
    return { values, text, file }
  })

for (const [flags, word] of refused) {
  const { status, stderr } = spawnSync('helm', [...render, ...flags], { encoding: 'utf8' })
  assert.notEqual(status, 0, `helm renders with ${flags.join(' ')}`)
  assert.match(stderr, word)
  console.log(`refused: ${flags.join(' ') || 'no image'}`)
}

const files = rendered.map(({ file }) => file)
writeSchemas()
const template = join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json')
const conform = ['-strict', '-summary', '-skip', 'ServiceMonitor', '-schema-location', template]
console.log(`kubeconform: ${run('kubeconform', ...conform, ...files).trim()}`)
const go = { cwd: join(import.meta.dirname, 'kubernetes'), stdio: 'inherit' } as const
console.log('the types of Kubernetes and of the operator of Prometheus; Pod Security, restricted')
execFileSync('go', ['run', '.', ...files], go)
console.log('compose.yaml, as Compose loads it')
execFileSync('go', ['run', './compose', join(root, 'compose.yaml'), 'one', 'etcd', 'mariadb'], go)

for (const file of manifestFiles) {
  const path = join(root, 'packaging', 'kubernetes', file)
  const { text } = rendered.find(({ values }) => values === valuesOf(file))!
  const plain = headerOf(file) + plainText(text)
  if (flag === '--write') writeFileSync(path, plain)
  assert.equal(
    readFileSync(path, 'utf8'),
    plain,
    `${file} is not what helm renders: npm run test:chart -- --write`,
  )
  console.log(`packaging/kubernetes/${file} is what helm renders`)
}

if (flag === '--package') {
  assert.ok(packed, '--package needs the name of a file')
  run('helm', 'package', chart, '--destination', folder)
  const [made] = globSync(join(folder, '*.tgz'))
  copyFileSync(made!, packed)
  for (const { values } of rendered) {
    run('helm', 'lint', '--strict', packed, '--values', join(chart, values))
    run('helm', 'template', 'fahao', packed, '--kube-version', kubernetes, '--values', join(chart, values))
  }
  console.log(`${packed}: packed, linted and rendered with ${rendered.length} files of values`)
}

/** The schemas of the kinds of the chart, each with all definitions in it, as kubeconform reads them. */
function writeSchemas(): void {
  const from = join(schemas, `kubernetes_validate/kubernetes-json-schema/v${kubernetes}-local-strict`)
  const { $defs } = JSON.parse(readFileSync(join(from, '_definitions.json'), 'utf8'))
  for (const kind of [
    'statefulset-apps-v1',
    'deployment-apps-v1',
    'service-v1',
    'secret-v1',
    'poddisruptionbudget-policy-v1',
    'networkpolicy-networking-v1',
  ]) {
    const schema = JSON.parse(readFileSync(join(from, `${kind}.json`), 'utf8'))
    const text = JSON.stringify({ ...schema, $defs }).replaceAll('/api/_definitions.json#', '#')
    writeFileSync(join(folder, `${kind}.json`), text)
  }
}

/** Without what only a release of helm has. */
function plainText(text: string): string {
  return text.replaceAll(
    /^(?:# Source: .*| +(?:helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*)\n/gm,
    '',
  )
}

function run(name: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(name, args, { encoding: 'utf8', maxBuffer: 2 ** 24 })
  if (error) throw error
  assert.equal(status, 0, `${name} ${args.join(' ')}:\n${stdout}${stderr}`)
  return stdout
}
