/**
 * How a node of a cluster proves to another that it is one, when it forwards the request of a user: the password of the
 * user is replaced by a proof. It is made from a secret that the engine keeps: a process that can read the store is a node.
 *
 * Invariants
 *  1. A proof is valid for one user on one node, which is named by the id that it has since its start: a proof that was
 *     read on one connection cannot be used on another node, nor for another user.
 *  2. A proof permits nothing of administration, and nothing to a user that the receiver knows as removed or off: a proof
 *     that was read on a connection without TLS is worth no more than the user's requests.
 *  3. The secret is never sent. It is in no error and no event.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { secretBytes } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'

const key = 'auth/node-secret'
const prefix = 'fahao-node-'

/** What stands for the password of a user in a request to the node with an id. */
export type ProofFor = (user: string, nodeId: string) => string

/** Makes and checks proofs. */
export class NodeProof {
  readonly #secret: string
  readonly #ownId: () => string

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

  /** What stands for the password of `user` in a request that is forwarded to the node with this id. */
  of(user: string, nodeId: string): string {
    const hmac = createHmac('sha256', this.#secret).update(`${nodeId} ${user}`).digest('base64url')
    return `${prefix}${hmac}`
  }

  /** Whether `password` is the proof of another node for this user and this node. */
  proves(user: string, password: string): boolean {
    if (!password.startsWith(prefix)) return false
    const expected = Buffer.from(this.of(user, this.#ownId()))
    const given = Buffer.from(password)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}
