/** etcd's messages as this engine uses them. Integers of 64 bits are strings of digits. */
import protobuf from 'protobufjs'

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
  readonly cancelReason: string
  readonly events: readonly { readonly type: number; readonly kv: KeyValue }[]
}

/** A method in the form that grpc-js needs. */
export type Method<Request, Response> = {
  readonly path: string
  readonly encode: (request: Request) => Buffer
  readonly decode: (bytes: Buffer) => Response
}

/**
 * The messages of etcd's API (v3) in use, with the field numbers of its rpc.proto and kv.proto; `int32` stands for enums. The
 * text is in the code, not in a .proto file, so that every form in which the program is delivered includes it.
 */
const proto = `
  syntax = "proto3";
  message ResponseHeader { uint64 cluster_id = 1; int64 revision = 3; }
  message KeyValue { bytes key = 1; int64 mod_revision = 3; bytes value = 5; }
  message RangeRequest {
    bytes key = 1; bytes range_end = 2; int64 limit = 3; int64 revision = 4; bool keys_only = 8; int64 min_mod_revision = 10;
  }
  message RangeResponse { ResponseHeader header = 1; repeated KeyValue kvs = 2; bool more = 3; int64 count = 4; }
  message PutRequest { bytes key = 1; bytes value = 2; }
  message DeleteRangeRequest { bytes key = 1; }
  message RequestOp {
    oneof request { RangeRequest range = 1; PutRequest put = 2; DeleteRangeRequest delete_range = 3; }
  }
  message ResponseOp { oneof response { RangeResponse range = 1; } }
  message Compare { int32 target = 2; bytes key = 3; int64 mod_revision = 6; }
  message TxnRequest { repeated Compare compare = 1; repeated RequestOp success = 2; repeated RequestOp failure = 3; }
  message TxnResponse { ResponseHeader header = 1; bool succeeded = 2; repeated ResponseOp responses = 3; }
  message WatchRequest { oneof request { WatchCreateRequest create = 1; WatchProgressRequest progress = 3; } }
  message WatchCreateRequest { bytes key = 1; bytes range_end = 2; int64 start_revision = 3; }
  message WatchProgressRequest {}
  message Event { int32 type = 1; KeyValue kv = 2; }
  message WatchResponse {
    ResponseHeader header = 1; bool created = 3; bool canceled = 4; string cancel_reason = 6; repeated Event events = 11;
  }
  message AuthenticateRequest { string name = 1; string password = 2; }
  message AuthenticateResponse { string token = 2; }
`
const { root: messages } = protobuf.parse(proto)

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

/** A method of a service. etcd names its messages after the method. */
function method<Request extends object, Response>(service: string, name: string): Method<Request, Response> {
  const request = messages.lookupType(`${name}Request`)
  const response = messages.lookupType(`${name}Response`)
  const form = { longs: String, defaults: true, arrays: true }
  return {
    path: `/etcdserverpb.${service}/${name}`,
    encode: (message) => request.encode(request.fromObject(message)).finish() as Buffer,
    decode: (bytes) => response.toObject(response.decode(bytes), form) as Response,
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
