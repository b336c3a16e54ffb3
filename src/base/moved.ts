/** Errors of a cluster: another node leads the generator, or none does. */
import { FahaoError } from './errors.ts'

/** The node that leads the generator. */
export type MovedDetails = {
  /** Id of the leader. */
  readonly node: string
  /** Slot of the generator's name. */
  readonly slot: number
  /** Announced `host:port` of the leader's RESP and HTTP; undefined: not served there. */
  readonly resp: string | undefined
  readonly http: string | undefined
}

/** MOVED: another node leads this strict generator. The RESP text is Redis Cluster's, `MOVED 1234 10.0.0.1:7379`. */
export class Moved extends FahaoError {
  readonly details: MovedDetails

  constructor(details: MovedDetails) {
    // An IPv6 address has no brackets here: libraries take everything before the last colon as the host.
    super('MOVED', `${details.slot} ${(details.resp ?? ':0').replace(/^\[(.*)\]/, '$1')}`)
    this.details = details
  }
}

/** CLUSTERDOWN, with Redis Cluster's text: no node leads the slot. */
export function slotNotServed(): FahaoError {
  return new FahaoError('CLUSTERDOWN', 'Hash slot not served')
}
