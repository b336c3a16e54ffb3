/**
 * Operations of callers inside this process, carried out by the nodes that lead their generators. Nodes ask each other by the
 * words of a client.
 */

import type { Catalogue } from '../catalogue/catalogue.ts'
import { slotOf } from '../cluster/slots.ts'
import type { EncodedReply } from '../commands/command.ts'
import type { Forwarder, ForwardTransport } from '../forwarding/forwarder.ts'
import type { Leaders } from '../operations/caller.ts'
import { blockOperation, nextOperation } from '../operations/drawing.ts'
import { alterOperation, createOperation, dropOperation } from '../operations/generators.ts'
import type { IssuedIds } from '../operations/issued-texts.ts'
import { moveOperation, newestOperation } from '../operations/newest.ts'
import type { GeneratorOperation } from '../operations/operation.ts'
import type { Session } from '../operations/session.ts'
import { encodedRequest } from './forward-connection.ts'
import { NodeTransport } from './node-transport.ts'
import { type PlainReply, readReply } from './reply-reader.ts'

/** How an operation is asked of another node. */
type Form<Values, Answer> = {
  /** The words behind the name of the generator. */
  words(values: Values): readonly string[]
  answer(reply: PlainReply, values: Values): Answer
}

function form<Values extends { readonly name: string }, Answer>(
  { name }: GeneratorOperation<Values, Answer>,
  words: Form<Values, Answer>['words'],
  answer: Form<Values, Answer>['answer'],
): readonly [name: string, Form<unknown, unknown>] {
  return [name, { words, answer } as Form<unknown, unknown>]
}

const forms: ReadonlyMap<string, Form<unknown, unknown>> = new Map([
  form(
    nextOperation,
    ({ count, gene, by, at, above, key }) => [
      ...(key === undefined ? [] : ['KEY', key]),
      ...(count === 1n ? [] : ['COUNT', String(count)]),
      ...(at === undefined ? [] : ['AT', at instanceof Date ? at.toISOString() : String(at)]),
      ...(above === undefined ? [] : ['ABOVE', String(above)]),
      ...(gene === undefined ? [] : ['GENE', ...[gene].flat().map(String)]),
      ...(by === undefined ? [] : ['BY', ...[by].flat()]),
    ],
    textsOf,
  ),
  form(
    blockOperation,
    ({ count }) => [String(count)],
    (last, { count }) => (last as bigint) - count + 1n,
  ),
  form(
    newestOperation,
    () => [],
    (newest) => (newest === null ? undefined : BigInt(newest as string)),
  ),
  form(
    moveOperation,
    ({ newest, condition = [], force }) => [String(newest), condition, force ? 'FORCE' : []].flat(),
    (reply) => reply !== null,
  ),
  form(
    createOperation,
    ({ options }) => pairsOf(options),
    () => undefined,
  ),
  form(
    alterOperation,
    ({ changes }) => pairsOf(changes),
    () => undefined,
  ),
  form(
    dropOperation,
    () => [],
    (dropped) => dropped === 1n,
  ),
])

/** FORCE and NOW of ID.ALTER have no value. */
function pairsOf(options: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(options).flatMap(([option, value]) => {
    if (option !== 'force' && option !== 'now') return [option, String(value)]
    return value === true ? [option] : []
  })
}

/** About what an id takes as a string in an array. */
const textBytes = 40

function textsOf(reply: PlainReply): IssuedIds {
  const texts = [reply].flat() as readonly string[]
  return { count: texts.length, heldBytes: texts.length * textBytes, at: (index) => texts[index]! }
}

/** An operation on a generator. */
export type LeaderCall = {
  readonly operation: GeneratorOperation<never, unknown>
  readonly values: { readonly name: string }
  readonly session: Pick<Session, 'access' | 'address'>
  /** Carries the operation out on this node. */
  run(): Promise<unknown>
}

/** Sends operations to other nodes. */
export class LeaderTransport
  extends NodeTransport
  implements ForwardTransport<LeaderCall, EncodedReply, unknown>
{
  handle({ run }: LeaderCall): Promise<unknown> {
    return run()
  }

  send({ operation, values, session }: LeaderCall, address: string, nodeId: string): Promise<EncodedReply> {
    const { name, change } = operation
    const words = [name, values.name, ...forms.get(name)!.words(values)]
    const asking = { session, protocol: 3, wideIds: 'integer' } as const
    return this.connection(address, nodeId, asking, change !== undefined).send(
      encodedRequest(words.map((word) => Buffer.from(word))),
    )
  }

  deliver({ operation, values }: LeaderCall, reply: EncodedReply): unknown {
    return forms.get(operation.name)!.answer(readReply(reply), values)
  }

  onlyDraws({ operation }: LeaderCall): boolean {
    return operation.permission === 'issue'
  }

  isForwarded(): boolean {
    return false
  }
}

/** Has the leaders of generators carry operations out. */
export function leadersOf(
  catalogue: Catalogue,
  forwarder: Forwarder<LeaderCall, EncodedReply, unknown>,
): Leaders {
  const knownLeader = (name: string) =>
    catalogue.find(name)?.mode === 'leader' ? forwarder.knownLeader(slotOf(name)) : undefined
  return {
    isElsewhere: (name) => knownLeader(name)?.resp !== undefined,
    async carryOut(operation, values, session, run) {
      const call: LeaderCall = { operation, values, session, run }
      // Where a leader is known, an exception costs several times as much as forwarding.
      const leader = operation.permission === 'issue' ? knownLeader(values.name) : undefined
      return (await (leader ? forwarder.forward(call, leader) : forwarder.handle(call))) as never
    },
  }
}
