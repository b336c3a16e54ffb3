/** `/metrics`. */
import { z } from 'zod'
import { metricsTypes } from '../../metrics/metric-set.ts'
import type { Metrics } from '../../metrics/node-metrics.ts'
import { metricsPermission } from '../../operations/permissions.ts'
import type { ApiRoute } from '../api-route.ts'
import { connectionOf, type HttpResponse } from '../connection.ts'

const shownLines = `# HELP fahao_engine_up Whether the engine answers: 1 or 0.\n# TYPE fahao_engine_up gauge\nfahao_engine_up 1\n`

/** `GET /metrics` */
export function metricsRoute(metrics: Metrics): ApiRoute {
  return {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    tag: 'server',
    command: metricsPermission,
    summary: 'Metrics in Prometheus’s text format.',
    notes:
      'With `accept: application/openmetrics-text` they are in the format of OpenMetrics, with the traces of slow requests. A user that may not name every generator is told of those with series of their own that it may name; the others, their sum, and namespaces of their names are left out.',
    answers: {
      200: {
        description: 'All metrics.',
        content: { 'text/plain': z.string().meta({ examples: [shownLines] }) },
      },
    },
    errors: [],
    example: {},
    async handler({ access, headers, raw }, reply) {
      // A scrape lets others go first, and would be the slowest of all requests where ids go by another protocol.
      if (connectionOf(raw) !== undefined) (reply.raw as HttpResponse).receivedUs = undefined
      const format = headers.accept?.includes('application/openmetrics-text') ? 'openmetrics' : 'text'
      reply.header('content-type', metricsTypes[format])
      return metrics.render(access, format)
    },
  }
}
