/** What promtool, of Debian's Prometheus, says of the metrics and of the alerts over their real times. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { startFahao } from '../../launch/fahao.ts'
import { freePort, temporaryFolder } from '../../launch/places.ts'
import { runProgram } from '../../launch/program.ts'

const alertsFile = join(import.meta.dirname, '../../../ops/prometheus/alerts.yml')

/** Series as promtool writes them: one value a minute. `fires`: with these labels, after so many minutes. */
type Case = {
  readonly series: Readonly<Record<string, string>>
  readonly fires: Readonly<Record<string, string>>
  readonly afterMinutes: number
  readonly severity?: string
}

const node = 'job="fahao",instance="a:1"'
const at = { job: 'fahao', instance: 'a:1' }
/** Rises by 60 a minute, from 0. */
const oneASecond = '0+60x90'

const cases: Readonly<Record<string, Case>> = {
  FahaoDown: { series: { [`up{${node}}`]: '1 0x5' }, fires: at, afterMinutes: 3 },
  FahaoEngineDown: { series: { [`fahao_engine_up{${node}}`]: '1 0x5' }, fires: at, afterMinutes: 3 },
  FahaoEngineForgot: {
    series: { [`fahao_engine_regressions_total{${node}}`]: '0 1x10' },
    fires: at,
    afterMinutes: 5,
  },
  FahaoEngineCallsFail: {
    series: {
      [`fahao_engine_call_seconds_count{${node},operation="reserve",outcome="UNAVAILABLE"}`]: oneASecond,
    },
    fires: at,
    afterMinutes: 12,
  },
  FahaoRunningDry: {
    series: { [`fahao_engine_up{${node}}`]: '0x5', [`fahao_in_hand_seconds_min{${node}}`]: '100x5' },
    fires: at,
    afterMinutes: 2,
  },
  FahaoClientsWait: {
    series: { [`fahao_dry_seconds_total{${node},generator="g"}`]: '0+6x30' },
    fires: { ...at, generator: 'g' },
    afterMinutes: 12,
  },
  FahaoRequestsSlow: {
    series: {
      [`fahao_request_seconds_bucket{${node},protocol="http",outcome="ok",le="0.5"}`]: '0x30',
      [`fahao_request_seconds_bucket{${node},protocol="http",outcome="ok",le="1"}`]: oneASecond,
      [`fahao_request_seconds_bucket{${node},protocol="http",outcome="ok",le="+Inf"}`]: oneASecond,
    },
    fires: { ...at, protocol: 'http' },
    afterMinutes: 12,
  },
  FahaoRequestsFail: {
    series: { [`fahao_errors_total{${node},protocol="resp",code="DRY"}`]: oneASecond },
    fires: { ...at, protocol: 'resp', code: 'DRY' },
    afterMinutes: 8,
  },
  FahaoRefillsFail: {
    series: { [`fahao_refills_failing{${node},generator="g"}`]: '0 1x20' },
    fires: { ...at, generator: 'g' },
    afterMinutes: 8,
  },
  FahaoRefillsSlow: {
    series: {
      [`fahao_refill_seconds_bucket{${node},outcome="ok",le="1"}`]: '0x30',
      [`fahao_refill_seconds_bucket{${node},outcome="ok",le="2.5"}`]: oneASecond,
      [`fahao_refill_seconds_bucket{${node},outcome="ok",le="+Inf"}`]: oneASecond,
    },
    fires: at,
    afterMinutes: 12,
  },
  FahaoStalled: {
    series: {
      [`fahao_event_loop_lag_seconds_bucket{${node},le="0.5"}`]: '0+3000x20',
      [`fahao_event_loop_lag_seconds_count{${node}}`]: '0+3000x5 18001+3000x14',
    },
    fires: at,
    afterMinutes: 7,
  },
  FahaoFilesEnd: {
    series: { [`process_open_fds{${node}}`]: '950x5', [`process_max_fds{${node}}`]: '1000x5' },
    fires: at,
    afterMinutes: 3,
  },
  FahaoNoLeader: {
    series: { [`fahao_cluster_shards_leaderless{${node}}`]: '0 4x5' },
    fires: { job: 'fahao' },
    afterMinutes: 3,
  },
  FahaoLeasesLapse: {
    series: { [`fahao_cluster_transitions_total{${node},type="lapsed"}`]: '0 1x10' },
    fires: { ...at, type: 'lapsed' },
    afterMinutes: 5,
  },
  FahaoVersionsMixed: {
    series: { [`fahao_cluster_versions{${node}}`]: '2x150' },
    fires: at,
    afterMinutes: 130,
  },
  FahaoGeneratorEnds: {
    series: {
      // A day at the rate of this node, and half of it with the other one.
      [`fahao_left_ids{${node},generator="g"}`]: '864000x5',
      'fahao_left_ids{job="fahao",instance="b:1",generator="g"}': '864000x5',
      [`fahao_issued_ids_per_second{${node},generator="g"}`]: '10x5',
      'fahao_issued_ids_per_second{job="fahao",instance="b:1",generator="g"}': '10x5',
      [`fahao_callers_ids_per_second{${node},generator="g"}`]: '0x5',
      'fahao_callers_ids_per_second{job="fahao",instance="b:1",generator="g"}': '0x5',
    },
    fires: { job: 'fahao', generator: 'g' },
    afterMinutes: 2,
  },
  FahaoLayoutEnds: {
    series: { [`fahao_layout_exhaustion_seconds{${node},layout="l"}`]: '86400x5' },
    fires: { job: 'fahao', layout: 'l' },
    afterMinutes: 2,
  },
  FahaoWorkerIdsEnd: {
    series: {
      [`fahao_worker_ids_taken{${node}}`]: '900x5',
      [`fahao_layout_worker_ids{${node},layout="l"}`]: '1024x5',
    },
    fires: { job: 'fahao' },
    afterMinutes: 2,
  },
  FahaoLeasesEnd: {
    series: {
      [`fahao_layout_worker_ids_free{${node},layout="l"}`]: '10x5',
      [`fahao_layout_worker_ids{${node},layout="l"}`]: '1024x5',
    },
    fires: { job: 'fahao', layout: 'l' },
    afterMinutes: 3,
  },
  FahaoQuotaRefuses: {
    series: { [`fahao_namespace_refused_total{${node},namespace="n",owner="team"}`]: oneASecond },
    fires: { job: 'fahao', namespace: 'n', owner: 'team' },
    afterMinutes: 12,
  },
  FahaoAuditIncomplete: {
    series: { [`fahao_audit_entries_lost_total{${node}}`]: '0 5x10' },
    fires: at,
    afterMinutes: 5,
  },
  FahaoProxyWithoutServer: {
    series: { [`fahao_proxy_upstream_failures_total{${node}}`]: '0 1x10' },
    fires: at,
    afterMinutes: 3,
  },
  FahaoProxyWithoutIds: {
    series: { [`fahao_proxy_statements_total{${node},outcome="failed"}`]: '0 1x10' },
    fires: { ...at, outcome: 'failed' },
    afterMinutes: 3,
  },
  FahaoProxyRefuses: {
    series: { [`fahao_proxy_statements_total{${node},outcome="refused"}`]: '0 1x10' },
    fires: { ...at, outcome: 'refused' },
    afterMinutes: 5,
  },
}

/** Further causes. */
const others: readonly (Case & { readonly alert: string })[] = [
  {
    alert: 'FahaoEngineForgot',
    // Found while the node started, before the first scrape.
    series: {
      [`fahao_engine_regressions_total{${node}}`]: '_ _ 1x10',
      [`process_start_time_seconds{${node}}`]: '_ _ 100x10',
    },
    fires: at,
    afterMinutes: 4,
  },
]

test('promtool finds nothing to say about the metrics of a node with every kind, a proxy, and of a proxy alone', async (t) => {
  const upstream = `mysql://127.0.0.1:${await freePort()}`
  const server = await startFahao(t, {
    engine: 'memory:',
    args: ['--mysql-proxy', `127.0.0.1:${await freePort()}`, '--upstream', upstream],
  })
  const client = await server.connect()
  for (const kind of ['sequence', 'segment', 'timestamp', 'snowflake']) {
    await client.command('ID.CREATE', `a:${kind}`, 'KIND', kind)
    await client.command('ID.NEXT', `a:${kind}`)
  }
  await client.command('ID.NAMESPACE', 'SET', 'a', 'MATCH', 'a:*', 'DAILY', '1000')
  await client.command('INCR', 'a:sequence')
  await client.command('NONE')
  const scrape = await (await fetch(`${server.http}/metrics`)).text()
  for (const needed of [
    'fahao_issued_ids_total{generator="a:segment"}',
    'fahao_errors_total{',
    'fahao_namespace_day_share{',
  ])
    assert.ok(scrape.includes(needed), needed)
  // It complains on stderr, and by its status.
  await runProgram(['promtool', 'check', 'metrics'], { input: scrape })
})

test('promtool accepts the rules, and each alert fires for its cause, and only then', async (t) => {
  await runProgram(['promtool', 'check', 'rules', alertsFile])
  const { groups } = parse(readFileSync(alertsFile, 'utf8')) as {
    groups: {
      rules: { alert: string; labels: { severity: string }; annotations: Record<string, string> }[]
    }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  assert.deepEqual(
    rules.map(({ alert }) => alert),
    Object.keys(cases),
  )
  const causes = [...Object.entries(cases), ...others.map((each) => [each.alert, each] as const)]
  const tests = causes.map(([alert, { series, fires, afterMinutes }]) => {
    const { labels } = rules.find((rule) => rule.alert === alert)!
    const input = Object.entries(series).map(([name, values]) => ({ series: name, values }))
    return {
      name: alert,
      interval: '1m',
      input_series: input,
      // ALERTS has no annotations, whose texts have values.
      promql_expr_test: [
        {
          expr: `ALERTS{alertstate="firing", alertname="${alert}"}`,
          eval_time: `${afterMinutes}m`,
          exp_samples: [
            { labels: seriesText({ ...labels, ...fires, alertname: alert, alertstate: 'firing' }), value: 1 },
          ],
        },
        {
          expr: `ALERTS{alertstate="firing", alertname!~"${alert}|FahaoEngineDown"}`,
          eval_time: `${afterMinutes}m`,
          exp_samples: [],
        },
      ],
    }
  })
  const file = join(temporaryFolder(t), 'tests.yml')
  writeFileSync(file, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: '15s', tests }))
  await runProgram(['promtool', 'test', 'rules', file])
})

function seriesText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`)
  return `ALERTS{${pairs.join(',')}}`
}
