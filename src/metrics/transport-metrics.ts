/** The metrics of the listeners of a process: connections and requests, by the name of the protocol. */

import { type ErrorCode, errorKinds } from '../base/errors.ts'
import type { ConnectionCounts } from '../listening/admission.ts'
import type { RequestFigures } from '../listening/request-figures.ts'
import type { Traffic } from '../operations/session.ts'
import type { MetricSet, MetricValue, TimesValue } from './metric-set.ts'

/** What a transport counts. */
export type TransportFigures = Readonly<ConnectionCounts> &
  Pick<Traffic, 'commands'> & { readonly requests: RequestFigures }

/** Reads the figures of each transport, by the name of its protocol; undefined for one that is not served. */
export type TransportSources = Readonly<Record<string, (() => TransportFigures) | undefined>>

/** Each has a count from the start: Prometheus sees no increase from nothing to one. */
const errorCodes = Object.keys(errorKinds) as ErrorCode[]

/** Adds the metrics of the transports. */
export function addTransportMetrics(metrics: MetricSet, sources: TransportSources): void {
  const transports = () =>
    Object.entries(sources).flatMap(([protocol, read]) =>
      read === undefined ? [] : [{ protocol, figures: read() }],
    )
  const all = (figure: Exclude<keyof TransportFigures, 'rejected' | 'requests'>) => () =>
    transports().map(({ protocol, figures }): MetricValue => [{ protocol }, figures[figure]])
  const labels = ['protocol']
  metrics.gauge('fahao_connections', 'Open connections.', labels, all('connections'))
  metrics.counter('fahao_connections_total', 'Connections accepted.', labels, all('connectionsTotal'))
  const pending = 'Open connections before a login, or without a request of a user (HTTP).'
  metrics.gauge('fahao_connections_pending', pending, labels, all('pending'))
  const rejected = 'Connections closed to keep a limit, by reason: limit, address, pending.'
  metrics.counter('fahao_connections_rejected_total', rejected, [...labels, 'reason'], () =>
    transports().flatMap(({ protocol, figures }) =>
      Object.entries(figures.rejected).map(([reason, count]): MetricValue => [{ protocol, reason }, count]),
    ),
  )
  metrics.counter(
    'fahao_requests_total',
    'Commands and requests received; of RESP once they are answered, and of a transaction once they run.',
    labels,
    all('commands'),
  )
  const times = 'How long requests took in this process, by outcome: ok, refused or failed.'
  metrics.times('fahao_request_seconds', times, () =>
    transports().flatMap(({ protocol, figures: { requests } }) =>
      Object.entries(requests.times).map(([outcome, each]): TimesValue => [{ protocol, outcome }, each]),
    ),
  )
  const errors = 'Errors that clients got, by code.'
  metrics.counter('fahao_errors_total', errors, [...labels, 'code'], () =>
    transports().flatMap(({ protocol, figures: { requests } }) =>
      errorCodes.map((code): MetricValue => [{ protocol, code }, requests.errors.get(code) ?? 0]),
    ),
  )
}
