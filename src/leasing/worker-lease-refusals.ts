/** Why a worker lease is refused. */
import { FahaoError } from '../base/errors.ts'

/** The lease has ended. */
export function noLease(): FahaoError {
  return new FahaoError(
    'NOLEASE',
    'this lease was returned, its worker id has another holder, or the store was advanced; take a new lease: ID.LEASE',
  )
}

/** The span of the lease ends at another moment than its holder says. */
export function renewedElsewhere(): FahaoError {
  return new FahaoError(
    'NOLEASE',
    'the span of this lease ends at another moment than UNTIL: another process has renewed it, or the reply to a renewal was lost; take a new lease: ID.LEASE',
  )
}

/** The layout of the generator has fewer node bits than the worker id. */
export function noRoom(name: string, worker: number, nodeBits: number): FahaoError {
  return new FahaoError(
    'WORKERID',
    `worker id ${worker} does not fit the ${nodeBits} node bits of generator '${name}'; take another lease for it: ID.LEASE ${name}`,
  )
}

/** The generator is of a kind without worker ids. */
export function noWorkerId(name: string, kind: string): FahaoError {
  return new FahaoError(
    'WRONGTYPE',
    `'${name}' is a ${kind}: it takes no worker id; ID.LEASE ${name} shows what it takes`,
  )
}

/** A whole unit of time of the generator would reach too far ahead. */
export function longUnits(name: string): FahaoError {
  return new FahaoError(
    'WRONGTYPE',
    `the units of time of '${name}' are longer than 30 s, too long for a lease; ask for its ids: ID.NEXT ${name}`,
  )
}

/** Every id of the generator has a gene, which its caller gives. */
export function ofGenes(name: string): FahaoError {
  return new FahaoError(
    'WRONGTYPE',
    `'${name}' needs a gene with each draw, which a lease has none of; ask for its ids: ID.NEXT ${name} GENE n`,
  )
}

/** The layout of the generator cannot hold the time of the span. */
export function fullTime(name: string): FahaoError {
  return new FahaoError(
    'EXHAUSTED',
    `the time field of generator '${name}' ends within this span; use a layout with a later epoch under another name`,
  )
}

/** The span would end `us` µs above what an advance is sure to pass. */
export function farAhead(us: number): FahaoError {
  const waitSeconds = Math.ceil(us / 1_000_000)
  return new FahaoError(
    'CLOCK',
    `this span would end so far ahead of the clock that a store that has lost writes could give its time to another holder; retry in ${waitSeconds} s`,
    { retryAfterMs: waitSeconds * 1000 },
  )
}

/** Other processes have changed the same records all the time. */
export function contended(): FahaoError {
  return new FahaoError('CONFLICT', 'other requests were faster to change the records of worker ids; retry')
}
