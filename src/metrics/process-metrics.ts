/** The metrics of a process: its version of Node, its CPU time, its memory, its files, and how late its event loop is. */
import { readdirSync, readFileSync } from 'node:fs'
import { Histogram } from 'prom-client'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import type { MetricSet } from './metric-set.ts'

/** How often the event loop is looked at, in ms. */
const lookMs = 20
/** In seconds: a turn takes less than a millisecond; others notice some tens; a lease of 3 s is at risk from 1 on. */
const lagBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Adds the metrics of this process. `wallUs`: the time now, in µs. Returns a function that stops watching the event loop. */
export function addProcessMetrics(
  metrics: MetricSet,
  wallUs: number,
  clock: Clock = systemClock,
): () => void {
  const started = wallUs / 1_000_000 - process.uptime()
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
  const version = { version: process.version, major, minor, patch }
  metrics.gauge('nodejs_version_info', 'The version of Node: always 1.', Object.keys(version), () => [
    [version, 1],
  ])
  metrics.gauge('process_start_time_seconds', 'Start of the process, Unix time.', [], () => started)
  metrics.counter('process_cpu_seconds_total', 'CPU time used, user and system.', [], cpuSeconds)
  metrics.gauge('process_resident_memory_bytes', 'Memory held.', [], process.memoryUsage.rss)
  const heap = 'Memory of JavaScript’s objects, garbage included.'
  metrics.gauge('nodejs_heap_size_used_bytes', heap, [], () => process.memoryUsage().heapUsed)
  const files = 'Open files and sockets; where the system tells (Linux).'
  metrics.gauge('process_open_fds', files, [], openFiles)
  const filesMax = 'The most files and sockets that may be open; where the system tells (Linux).'
  metrics.gauge('process_max_fds', filesMax, [], openFilesMax)
  return watchEventLoop(metrics, clock)
}

/** The CPU time that this process has used, user and system. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}

function openFiles(): number | undefined {
  try {
    // The folder itself is open while it is read.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}

function openFilesMax(): number | undefined {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return most === undefined ? undefined : Number(most)
  } catch {
    return undefined
  }
}

/** Sets a timer again and again, and observes how late it fires. */
function watchEventLoop(metrics: MetricSet, clock: Clock): () => void {
  const lag = new Histogram({
    name: 'fahao_event_loop_lag_seconds',
    help: 'How late a timer of 20 ms fired: the time that the event loop had no turn for others.',
    buckets: lagBuckets,
    registers: [metrics.registry],
  })
  let timer: Timer
  const look = () => {
    const dueUs = clock.monoUs() + lookMs * 1000
    timer = clock.timer(lookMs, () => {
      lag.observe(Math.max(0, clock.monoUs() - dueUs) / 1_000_000)
      look()
    })
  }
  look()
  return () => timer.cancel()
}
