/** The gates of the generators of one process that it issues under no leadership. */
import type { FastRuns } from '../buffers/fast-runs.ts'
import { Gate } from './gate.ts'
import { isStrict, type Kind } from './issuer.ts'

/** Of each right the gate for what is opened now: the end of a right begins another gate. */
export class IssuingGates {
  readonly #runs: FastRuns
  /** Of strict kinds: the ownership of the store. */
  #owner: Gate
  /** Of snowflakes: the time of the worker id. */
  #worker: Gate
  /** Of all others. */
  #memory: Gate

  constructor(runs: FastRuns) {
    this.#runs = runs
    this.#owner = new Gate(runs)
    this.#worker = new Gate(runs)
    this.#memory = new Gate(runs)
  }

  /** The gate of a generator that is opened now, outside a cluster if it is strict. */
  of(kind: Kind): Gate {
    if (isStrict(kind)) return this.#owner
    return kind === 'snowflake' ? this.#worker : this.#memory
  }

  /** The gate of what is issued with a reserve for each batch of requests. */
  get ofBatches(): Gate {
    return this.#memory
  }

  /** A gate of a leadership of this process. */
  ofTerm(): Gate {
    return new Gate(this.#runs)
  }

  /** This process does not own the store any more. */
  endOwner(reason: Error): void {
    this.#owner.end(reason)
    this.#owner = new Gate(this.#runs)
  }

  /** The time of the worker id is no longer issued from what is open now. */
  endWorker(reason: Error): void {
    this.#worker.end(reason)
    this.#worker = new Gate(this.#runs)
  }

  /** Nothing is issued any more. */
  endAll(reason: Error): void {
    for (const gate of [this.#owner, this.#worker, this.#memory]) gate.end(reason)
  }

  /** Drops what everything that is open now has buffered. */
  dropAll(reason: Error): void {
    for (const gate of [this.#owner, this.#worker, this.#memory]) gate.drop(reason)
    this.#owner = new Gate(this.#runs)
    this.#worker = new Gate(this.#runs)
    this.#memory = new Gate(this.#runs)
  }
}
