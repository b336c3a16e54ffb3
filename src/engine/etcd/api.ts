/** etcd's messages as this engine uses them. Integers of 64 bits are strings of digits. */
import { decode, encode, type Message } from './protobuf.ts'

/** The header of every response: the cluster's id and its revision. */
export type Header = { readonly clusterId: string; readonly revision: string }

/** A key with its value, and the revision of its last write. */
export type KeyValue = {
  readonly key: Buffer
  readonly modRevision: string
  readonly value: Buffer
}

/** Keys from `key` to before `rangeEnd`, or the one key. Linearizable. */
export type RangeRequest = {
  readonly key: Buffer
  readonly rangeEnd?: Buffer
  readonly limit?: string
  readonly revision?: string
  readonly keysOnly?: boolean
  readonly minModRevision?: string
}

/** The result of a range; `count` is that of the whole range, whatever the limit. */
export type RangeResponse = {
  readonly header: Header | undefined
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  readonly count: string
}

/** Holds if the key was last changed at this revision; '0': if there is none. */
export type Compare = { readonly target: 2; readonly key: Buffer; readonly modRevision: string }

/** A step that reads or writes. */
export type RequestOp =
  | { readonly range: RangeRequest }
  | { readonly put: { readonly key: Buffer; readonly value: Buffer } }
  | { readonly deleteRange: { readonly key: Buffer } }

/** A transaction in a transaction: a step with conditions of its own. No two may write one key. */
export type NestedTxn = {
  readonly txn: {
    readonly compare: readonly Compare[]
    readonly success: readonly RequestOp[]
    readonly failure: readonly RequestOp[]
  }
}

/** Carries out `success` if all of `compare` holds, else `failure`. At most 128 of each. */
export type TxnRequest = {
  readonly compare: readonly Compare[]
  readonly success: readonly (RequestOp | NestedTxn)[]
  readonly failure: readonly RequestOp[]
}

/** The responses to steps, in their order; this engine reads those of ranges. */
type Responses = readonly { readonly range?: RangeResponse }[]

/** The response to a nested transaction. */
export type NestedResponse = { readonly succeeded: boolean; readonly responses: Responses }

/** Responses in the order of the steps; this engine reads those of ranges and of nested transactions. */
export type TxnResponse = {
  readonly header: Header
  readonly succeeded: boolean
  readonly responses: readonly { readonly range?: RangeResponse; readonly txn?: NestedResponse }[]
}

/** A message to a stream of watches. */
export type WatchRequest =
  | { readonly create: { readonly key: Buffer; readonly rangeEnd: Buffer; readonly startRevision: string } }
  | { readonly progress: Record<string, never> }

/** A message from a stream of watches. `type` 1 is a removal, 0 a write. */
export type WatchResponse = {
  readonly header: Header
  readonly created: boolean
  readonly canceled: boolean
  readonly cancelReason: string
  readonly events: readonly { readonly type: number; readonly kv: KeyValue }[]
}

/** A method of gRPC: its path, and the bytes of its messages. */
export type Method<Request, Response> = {
  readonly path: string
  readonly encode: (request: Request) => Buffer
  readonly decode: (bytes: Buffer) => Response
}

// The messages of etcd's API (v3) in use, with the field numbers of its rpc.proto and kv.proto.
const header: Message = { clusterId: [1, 'uint64'], revision: [3, 'int64'] }
const keyValue: Message = { key: [1, 'bytes'], modRevision: [3, 'int64'], value: [5, 'bytes'] }
const rangeRequest: Message = {
  key: [1, 'bytes'],
  rangeEnd: [2, 'bytes'],
  limit: [3, 'int64'],
  revision: [4, 'int64'],
  keysOnly: [8, 'bool'],
  minModRevision: [10, 'int64'],
}
const rangeResponse: Message = {
  header: [1, header],
  kvs: [2, keyValue, 'repeated'],
  more: [3, 'bool'],
  count: [4, 'int64'],
}
const requestOp: Message = {
  range: [1, rangeRequest],
  put: [2, { key: [1, 'bytes'], value: [2, 'bytes'] }],
  deleteRange: [3, { key: [1, 'bytes'] }],
}
const compare: Message = { target: [2, 'int32'], key: [3, 'bytes'], modRevision: [6, 'int64'] }
/** A transaction whose steps are described by `op`. */
const txnOf = (op: Message): Message => ({
  compare: [1, compare, 'repeated'],
  success: [2, op, 'repeated'],
  failure: [3, op, 'repeated'],
})
const txnRequest = txnOf({ ...requestOp, txn: [4, txnOf(requestOp)] })
const responsesOf = (response: Message): Message => ({
  succeeded: [2, 'bool'],
  responses: [3, response, 'repeated'],
})
const nestedResponse = responsesOf({ range: [1, rangeResponse] })
const txnResponse: Message = {
  header: [1, header],
  ...responsesOf({ range: [1, rangeResponse], txn: [4, nestedResponse] }),
}
const watchRequest: Message = {
  create: [1, { key: [1, 'bytes'], rangeEnd: [2, 'bytes'], startRevision: [3, 'int64'] }],
  progress: [3, {}],
}
const watchResponse: Message = {
  header: [1, header],
  created: [3, 'bool'],
  canceled: [4, 'bool'],
  cancelReason: [6, 'string'],
  events: [11, { type: [1, 'int32'], kv: [2, keyValue] }, 'repeated'],
}
type Login = { readonly name: string; readonly password: string }
const authenticateRequest: Message = { name: [1, 'string'], password: [2, 'string'] }
const authenticateResponse: Message = { token: [2, 'string'] }

/** The methods that this engine calls. */
export const methods = {
  range: method<RangeRequest, RangeResponse>('KV/Range', rangeRequest, rangeResponse),
  txn: method<TxnRequest, TxnResponse>('KV/Txn', txnRequest, txnResponse),
  watch: method<WatchRequest, WatchResponse>('Watch/Watch', watchRequest, watchResponse),
  authenticate: method<Login, { readonly token: string }>(
    'Auth/Authenticate',
    authenticateRequest,
    authenticateResponse,
  ),
}

function method<Request extends object, Response>(
  name: string,
  request: Message,
  response: Message,
): Method<Request, Response> {
  return {
    path: `/etcdserverpb.${name}`,
    encode: (message) => encode(request, message),
    decode: (bytes) => decode(response, bytes) as Response,
  }
}

/** The condition that a key was last changed at `revision`; 0: that the key does not exist. */
export function unchanged(key: Buffer, revision: bigint): Compare {
  return { target: 2, key, modRevision: String(revision) }
}

/** The immediate successor of a key in byte order. */
export function successorOf(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)])
}

/** The end of the range of all keys that start with these bytes. */
export function endOf(prefix: Buffer): Buffer {
  const last = prefix.findLastIndex((byte) => byte !== 0xff)
  // No key follows a prefix of 0xff alone: in etcd, one zero byte stands for no end.
  if (last < 0) return Buffer.of(0)
  const end = Buffer.from(prefix.subarray(0, last + 1))
  end[last]! += 1
  return end
}
