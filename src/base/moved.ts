/** The refusal of a request that another node of the cluster answers. */
import { FahaoError } from './errors.ts'

/** Who answers instead. */
export type MovedDetails = {
  /** Id of the node that leads. */
  readonly node: string
  /** Slot of the generator's name. */
  readonly slot: number
  /** Announced `host:port` of the leader's RESP and HTTP; undefined: not served there. */
  readonly resp: string | undefined
  readonly http: string | undefined
}

/** A strict generator is led elsewhere: MOVED. In RESP it reads as Redis Cluster's, `MOVED 1234 10.0.0.1:7379`. */
export class Moved extends FahaoError {
  readonly details: MovedDetails

  constructor(details: MovedDetails) {
    // Without an IPv6 address's brackets: libraries take everything before the last colon for the host.
    super('MOVED', `${details.slot} ${(details.resp ?? ':0').replace(/^\[(.*)\]/, '$1')}`)
    this.details = details
  }
}

/** Nobody leads: CLUSTERDOWN, in Redis's words. */
export function slotNotServed(): FahaoError {
  return new FahaoError('CLUSTERDOWN', 'Hash slot not served')
}
