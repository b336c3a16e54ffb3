/** Starts stand-ins, and has ids issued by several of them at once. */
import type { OldDatabase } from './database.ts'
import { IdBuilderNode } from './idbuilder.ts'
import type { IssuedIds } from './ids.ts'
import { LeafNode } from './leaf.ts'
import type { OldNode } from './old-node.ts'
import type { Schema } from './tables.ts'
import { TinyidNode } from './tinyid.ts'

/** Starts a node of an old service. */
export async function startOldNode(schema: Schema, database: OldDatabase): Promise<OldNode> {
  if (schema === 'leaf') return LeafNode.start(database)
  return schema === 'idbuilder' ? new IdBuilderNode(database) : new TinyidNode(database)
}

/** Has a node issue ids of a key, one after another; gives others a turn every now and then. */
export async function issue(node: OldNode, key: string, count: number, into: IssuedIds): Promise<void> {
  for (let issued = 0; issued < count; issued++) {
    into.add(await idOf(node, key))
    if (issued % 1000 === 999) await new Promise((turn) => setImmediate(turn))
  }
}

/** A client asks again where tinyid's optimistic update has lost against another server three times. */
async function idOf(node: OldNode, key: string): Promise<bigint> {
  for (;;) {
    try {
      const id = node.next(key)
      return typeof id === 'bigint' ? id : await id
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'get next segmentId conflict') throw error
    }
  }
}
