/** The alerts and the dashboard: each alert has its section, and what they ask for exists. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'

function file(path: string): string {
  return readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')
}

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

const { groups } = parse(file('ops/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)

test('every alert has a section with its expression, to which it links', () => {
  const [, ...sections] = file('docs/operating/alerts.md').split(/^## /m)
  assert.deepEqual(
    sections.map((section) => section.split('\n', 1)[0]),
    rules.map(({ alert }) => alert),
  )
  for (const [at, { alert, expr, for: lasts, labels, annotations }] of rules.entries()) {
    const section = sections[at]!
    assert.equal(/```promql\n(.*?)\n```/s.exec(section)?.[1], expr.trim(), alert)
    const severity = `Severity \`${labels.severity}\`${lasts === undefined ? '' : `, when it lasts for ${lasts}`}.`
    assert.ok(section.includes(severity), `${alert}: ${severity}`)
    assert.equal(annotations.runbook_url, `docs/operating/alerts.md#${alert.toLowerCase()}`)
    assert.ok(annotations.summary, alert)
  }
})

test('the alerts and the dashboard use metrics that exist', () => {
  const metrics = [...file('docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \|/gm)]
  const published = new Set(
    metrics.flatMap(([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  )
  const used = ['ops/prometheus/alerts.yml', 'ops/grafana/fahao.json'].flatMap((path) => [
    ...file(path).matchAll(/\b((?:fahao|process|nodejs)_[a-z_]+)\b(?=[{[)]| [<>/]|,)/g),
  ])
  assert.ok(used.length > 50)
  for (const [, name] of used) assert.ok(published.has(name), name)
})
