/** Debian's Prometheus on loopback, which scrapes every second. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { requireProgram, startProcess } from './process.ts'

/** What it scrapes, as `host:port`, under the job `fahao`; `rules`: the text of a file of rules. */
export type PrometheusOptions = { readonly targets: readonly string[]; readonly rules: string }

/** A series, and its newest value or its values of a time. */
export type Series = { readonly metric: Readonly<Record<string, string>>; readonly value?: [number, string] }

/** A Prometheus under test. */
export type Prometheus = {
  /** What an expression has now. Rejects where it cannot be understood. */
  query(expression: string): Promise<readonly Series[]>
  /** What an expression had in the last `seconds`. */
  range(expression: string, seconds: number): Promise<readonly Series[]>
  /** The names of the alerts that fire now. */
  firing(): Promise<ReadonlySet<string>>
}

/** Starts it; resolves when it answers. */
export async function startPrometheus(
  lifetime: Lifetime,
  { targets, rules }: PrometheusOptions,
): Promise<Prometheus> {
  const folder = temporaryFolder(lifetime)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  writeFileSync(join(folder, 'alerts.yml'), rules)
  // JSON is YAML.
  const configuration = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'fahao', static_configs: [{ targets }] }],
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(configuration))
  await startProcess(lifetime, {
    command: requireProgram('prometheus'),
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    readyWithinMs: 60_000,
    readyWhen: { line: /Server is ready to receive web requests/ },
  })
  const ask = async (path: string, parameters: Record<string, string>) => {
    const answer = await fetch(`${base}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const { data, error } = (await answer.json()) as { data?: { result: Series[] }; error?: string }
    if (data === undefined) throw new Error(`${error}: ${parameters.query}`)
    return data.result
  }
  return {
    query: (query) => ask('query', { query }),
    range(query, seconds) {
      const end = Date.now() / 1000
      return ask('query_range', { query, start: String(end - seconds), end: String(end), step: '1' })
    },
    async firing() {
      const all = await ask('query', { query: 'ALERTS{alertstate="firing"}' })
      return new Set(all.map(({ metric }) => metric.alertname!))
    },
  }
}
