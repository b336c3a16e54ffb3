/** Statements from their trees, by the kinds of their nodes. What is not about sequences and sessions is refused. */
import { notSupported } from './errors.ts'
import { compileQuery, type QueryHost } from './queries.ts'
import type { Read } from './query-text.ts'
import { readAlter, readCreate, readDrop } from './sequence-definitions.ts'
import { command, type Session, type Statement } from './session.ts'
import {
  readClose,
  readDeallocate,
  readDeclare,
  readDiscard,
  readExecute,
  readFetch,
  readPrepare,
  readSet,
  readShow,
  readTransaction,
} from './session-statements.ts'
import { bytesOf } from './statement-size.ts'

/**
 * Compiles a statement. Throws or rejects with SqlError. @param declared the oids of
 * the parameters' types that the client gave; 0: left open.
 */
export function compile(
  read: Read,
  declared: readonly number[],
  host: QueryHost,
  session: Session,
): Statement | Promise<Statement> {
  const { node, text } = read
  const query = (given: readonly number[]) => compileQuery(read, given, host, session)
  if ('SelectStmt' in node) return query(declared)
  if ('DeclareCursorStmt' in node) return readDeclare(node.DeclareCursorStmt, text, () => query(declared))
  if ('PrepareStmt' in node) return readPrepare(node.PrepareStmt, text, query)
  return { heldBytes: bytesOf(text, false), ...commandOf(read) }
}

function commandOf({ node, text }: Read): Statement {
  if ('TransactionStmt' in node) return readTransaction(node.TransactionStmt)
  if ('VariableSetStmt' in node) return readSet(node.VariableSetStmt)
  if ('VariableShowStmt' in node) return readShow(node.VariableShowStmt)
  if ('ExecuteStmt' in node) return readExecute(node.ExecuteStmt)
  if ('FetchStmt' in node) return readFetch(node.FetchStmt)
  if ('ClosePortalStmt' in node) return readClose(node.ClosePortalStmt)
  if ('DeallocateStmt' in node) return readDeallocate(node.DeallocateStmt)
  if ('DiscardStmt' in node) return readDiscard(node.DiscardStmt)
  if ('UnlistenStmt' in node) return command('UNLISTEN')
  if ('CreateSeqStmt' in node) return readCreate(node.CreateSeqStmt)
  if ('AlterSeqStmt' in node) return readAlter(node.AlterSeqStmt)
  if ('DropStmt' in node && node.DropStmt.removeType === 'OBJECT_SEQUENCE') return readDrop(node.DropStmt)
  if ('RenameStmt' in node && node.RenameStmt.renameType === 'OBJECT_SEQUENCE')
    throw notSupported(
      'a generator cannot be renamed: its name is part of its identity',
      'Create another one with START above the newest id of this one.',
    )
  throw unsupportedVerb(text)
}

const verb = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*([a-z]+)(?:\s+([a-z]+))?/i

/** 0A000 for a statement that this server has no use for. */
export function unsupportedVerb(text: string): Error {
  const [, first = 'This statement', second = ''] = verb.exec(text) ?? []
  const name = /^(?:create|alter|drop)$/i.test(first) ? `${first} ${second}` : first
  return notSupported(
    `${name.toUpperCase()} is not supported: this server has sequences and no tables`,
    'Sequences are made with CREATE SEQUENCE.',
  )
}
