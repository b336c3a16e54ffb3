/**
 * How a node of a cluster proves to another that it is one, when it forwards the request of a user. Proofs are made from a
 * secret that the engine keeps: a process that can read the store is a node.
 *
 * Invariants
 *  1. A proof is taken once: senders number their proofs, and the receiver remembers the numbers that it has taken.
 *  2. A proof is for one receiver, named by the id that it has since its start, and for one purpose: one RESP connection of
 *     one user, or one HTTP request with its method, path, body and client. No other transport takes it, and no password check.
 *  3. A proof names the revision of its user that the sender knew. It is void once the user has been changed or removed and
 *     the receiver has known that for `supersededMs`, which is longer than a change takes to reach the sender.
 *  4. It says who asks, not what that user may do: the receiver permits what the user may do at that moment, and of that
 *     only what nodes forward (`Access.forwarded`), so no proof reads, makes or changes users, passwords and tokens.
 *  5. The secret is never sent. It is in no error and no event.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { secretBytes } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { UsedNumbers } from './used-numbers.ts'

const key = 'auth/node-secret'
const prefix = 'fahao-node-'
/** A proof has the parts target, sender, number, revision and seal. */
const partsCount = 5

/** The user that a proof is for, as the sender knew it. */
export type ProvenUser = { readonly user: string; readonly revision: number }

/** What a proof of a request over HTTP is bound to. */
export type ProvenRequest = {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly contentType: string | undefined
  /** The SHA-256 of the body. */
  readonly digest: string
  /** The address of the client. */
  readonly client: string
}

/** What a proof is good for: the first member names the transport. */
export type Purpose = readonly ['resp'] | readonly ['http', ...request: readonly string[]]

/** For one RESP connection. */
export const respPurpose: Purpose = ['resp']

/** For one HTTP request. */
export function purposeOfHttp({ method, path, contentType = '', digest, client }: ProvenRequest): Purpose {
  return ['http', method, path, contentType, digest, client]
}

/** What a node proves to others. */
export interface Proving {
  /** A proof for the node with this id; empty without a cluster. */
  proofFor(user: string, nodeId: string, purpose: Purpose): string
  /** What this node knows of a user. Proofs that were made before show less. */
  revisionOf(user: string): number
}

/** Whether a text has the form of a proof. */
export function isProofText(text: string): boolean {
  return text.startsWith(prefix)
}

/** Makes and checks proofs. */
export class NodeProof {
  readonly #secret: string
  readonly #ownId: () => string
  /** Names this process in its proofs. */
  readonly #sender = Buffer.from(secretBytes(12)).toString('base64url')
  readonly #used = new UsedNumbers()
  #number = 0

  private constructor(secret: string, ownId: () => string) {
    this.#secret = secret
    this.#ownId = ownId
  }

  /** Reads the secret of the cluster; the first node makes it. `ownId`: the present id of this node. */
  static async open(engine: Pick<Engine, 'read' | 'write'>, ownId: () => string): Promise<NodeProof> {
    const made = Buffer.from(secretBytes(32)).toString('base64url')
    const stored =
      (await engine.read(key)) ?? (await engine.write(key, made, undefined)) ?? (await engine.read(key))
    return new NodeProof(stored!.value, ownId)
  }

  /** A proof for the node with this id. Each is another one. */
  make(nodeId: string, { user, revision }: ProvenUser, purpose: Purpose): string {
    const claims = [encoded(nodeId), this.#sender, String(++this.#number), String(revision)]
    return prefix + [...claims, this.#seal(claims, user, purpose)].join('.')
  }

  /**
   * Takes a proof: the revision of the user that it names, or why it is no proof. CLUSTERDOWN, for the sender to look up
   * the leader again, if it is for another node or for an earlier start of this one.
   */
  take(text: string, user: string, purpose: Purpose): number | 'forged' | 'used' {
    const parts = text.slice(prefix.length).split('.')
    const seal = parts.pop()
    if (!isProofText(text) || seal === undefined || parts.length !== partsCount - 1) return 'forged'
    if (!isSame(this.#seal(parts, user, purpose), seal)) return 'forged'
    const [nodeId, sender, number, revision] = parts as [string, string, string, string]
    if (nodeId !== encoded(this.#ownId()))
      throw new FahaoError('CLUSTERDOWN', 'the request was forwarded to a node that has started anew; retry')
    return this.#used.take(sender, Number(number)) ? Number(revision) : 'used'
  }

  /** What only a node can write under these claims. */
  #seal(claims: readonly string[], user: string, purpose: Purpose): string {
    const text = JSON.stringify([...claims, user, ...purpose])
    return createHmac('sha256', this.#secret).update(text).digest('base64url')
  }
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}
