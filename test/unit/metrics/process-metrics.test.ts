import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MetricSet } from '../../../src/metrics/metric-set.ts'
import { addProcessMetrics } from '../../../src/metrics/process-metrics.ts'
import { FakeClock } from '../fake-clock.ts'

async function start() {
  const clock = new FakeClock()
  const metrics = new MetricSet()
  const stop = addProcessMetrics(metrics, clock.wall, clock)
  const value = async (series: string) => {
    const line = (await metrics.registry.metrics()).split('\n').find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }
  return { clock, metrics, stop, value }
}

describe('the metrics of a process', () => {
  test('have the lag of the event loop as a histogram that no scrape resets', async () => {
    const { clock, value } = await start()
    await clock.pass(60)
    // The event loop has no turn for 300 ms.
    clock.mono += 300_000
    await clock.pass(20)
    for (let scrape = 0; scrape < 2; scrape++) {
      const looks = (await value('fahao_event_loop_lag_seconds_count'))!
      assert.ok(looks >= 4)
      assert.equal(await value('fahao_event_loop_lag_seconds_bucket{le="0.25"}'), looks - 1)
      assert.equal(await value('fahao_event_loop_lag_seconds_bucket{le="0.5"}'), looks)
    }
  })

  test('leave no timer behind', async () => {
    const { clock, stop } = await start()
    assert.equal(clock.timers, 1)
    await clock.pass(100)
    stop()
    assert.equal(clock.timers, 0)
  })

  test('have the names that dashboards for Node know', async () => {
    const { metrics, value } = await start()
    const [major, minor, patch] = process.versions.node.split('.')
    const labels = `version="${process.version}",major="${major}",minor="${minor}",patch="${patch}"`
    assert.equal(await value(`nodejs_version_info{${labels}}`), 1)
    assert.ok((await value('process_cpu_seconds_total'))! > 0)
    assert.ok((await value('process_resident_memory_bytes'))! > 1e6)
    assert.ok((await value('process_start_time_seconds'))! > 1e9)
    assert.ok((await value('nodejs_heap_size_used_bytes'))! > 1e6)
    if (process.platform === 'linux') {
      const open = (await value('process_open_fds'))!
      assert.ok(open > 2 && open < (await value('process_max_fds'))!)
    }
    assert.doesNotMatch(await metrics.registry.metrics(), /quantile/)
  })
})
