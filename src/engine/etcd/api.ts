/** etcd's messages as this engine uses them. Integers of 64 bits are strings of digits. */
import { fromJSON, type MethodDefinition } from '@grpc/proto-loader'
import { descriptor } from './descriptor.ts'

/** The header of every response: the cluster's id and its revision. */
export type Header = { readonly clusterId: string; readonly revision: string }

/** A key with its value and revisions. */
export type KeyValue = {
  readonly key: Buffer
  readonly createRevision: string
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
  readonly header: Header | null
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  readonly count: string
}

/** Holds if the key was last changed at this revision; '0': if there is none. */
export type Compare = { readonly target: 2; readonly key: Buffer; readonly modRevision: string }

/** One step of a transaction. */
export type RequestOp =
  | { readonly range: RangeRequest }
  | { readonly put: { readonly key: Buffer; readonly value: Buffer } }
  | { readonly deleteRange: { readonly key: Buffer } }

/** Carries out `success` if all of `compare` holds, else `failure`. At most 128 of each. */
export type TxnRequest = {
  readonly compare: readonly Compare[]
  readonly success: readonly RequestOp[]
  readonly failure: readonly RequestOp[]
}

/** Responses in the order of the steps; this engine reads those of ranges. */
export type TxnResponse = {
  readonly header: Header
  readonly succeeded: boolean
  readonly responses: readonly { readonly range?: RangeResponse }[]
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
  readonly compactRevision: string
  readonly cancelReason: string
  readonly events: readonly { readonly type: number; readonly kv: KeyValue }[]
}

/** A method in the form that grpc-js needs. */
export type Method<Request, Response> = {
  readonly path: string
  readonly encode: (request: Request) => Buffer
  readonly decode: (bytes: Buffer) => Response
}

const definition = fromJSON(descriptor as Parameters<typeof fromJSON>[0], {
  longs: String,
  defaults: true,
  arrays: true,
})

/** The methods that this engine calls. */
export const methods = {
  range: method<RangeRequest, RangeResponse>('KV', 'Range'),
  txn: method<TxnRequest, TxnResponse>('KV', 'Txn'),
  watch: method<WatchRequest, WatchResponse>('Watch', 'Watch'),
  authenticate: method<{ readonly name: string; readonly password: string }, { readonly token: string }>(
    'Auth',
    'Authenticate',
  ),
}

function method<Request, Response>(service: string, name: string): Method<Request, Response> {
  const found = definition[`etcdserverpb.${service}`] as unknown as Record<
    string,
    MethodDefinition<object, object>
  >
  const { path, requestSerialize, responseDeserialize } = found[name]!
  return {
    path,
    encode: requestSerialize as unknown as (request: Request) => Buffer,
    decode: responseDeserialize as unknown as (bytes: Buffer) => Response,
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
