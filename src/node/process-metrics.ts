/** The metrics of a process: its CPU time, its memory, and how late its event loop is. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { MetricSet } from './metric-set.ts'

/** How often the event loop is watched, in ms. */
const resolutionMs = 10

/** Adds the metrics of this process. `wallUs`: the time now, in µs. Returns a function that stops watching the event loop. */
export function addProcessMetrics(metrics: MetricSet, wallUs: number): () => void {
  const eventLoop = monitorEventLoopDelay({ resolution: resolutionMs })
  eventLoop.enable()
  const started = wallUs / 1_000_000 - process.uptime()
  metrics.gauge('process_start_time_seconds', 'Start of the process, Unix time.', [], () => started)
  metrics.counter('process_cpu_seconds_total', 'CPU time used, user and system.', [], () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000_000
  })
  metrics.gauge('process_resident_memory_bytes', 'Memory held.', [], process.memoryUsage.rss)
  const help = 'How late the event loop was since the scrape before: quantiles 0.5, 0.99 and 1.'
  metrics.gauge('fahao_event_loop_lag_seconds', help, ['quantile'], () => {
    const values = [0.5, 0.99, 1].map((quantile) => {
      const seconds = eventLoop.percentile(quantile * 100) / 1e9
      return [{ quantile: String(quantile) }, Math.max(0, seconds - resolutionMs / 1000)] as const
    })
    eventLoop.reset()
    return values
  })
  return () => eventLoop.disable()
}
