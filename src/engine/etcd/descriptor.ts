/**
 * The part of etcd's API (v3) that is used, as a protobuf descriptor: field numbers from etcd's rpc.proto and kv.proto.
 * It is code, not a .proto file, so that it is there wherever the program is.
 */

const field = (type: string, id: number) => ({ type, id })
const list = (type: string, id: number) => ({ rule: 'repeated', type, id })

const messages = {
  ResponseHeader: {
    fields: { clusterId: field('uint64', 1), memberId: field('uint64', 2), revision: field('int64', 3) },
  },
  KeyValue: {
    fields: {
      key: field('bytes', 1),
      createRevision: field('int64', 2),
      modRevision: field('int64', 3),
      value: field('bytes', 5),
    },
  },
  RangeRequest: {
    fields: {
      key: field('bytes', 1),
      rangeEnd: field('bytes', 2),
      limit: field('int64', 3),
      revision: field('int64', 4),
      serializable: field('bool', 7),
      keysOnly: field('bool', 8),
      minModRevision: field('int64', 10),
    },
  },
  RangeResponse: {
    fields: {
      header: field('ResponseHeader', 1),
      kvs: list('KeyValue', 2),
      more: field('bool', 3),
      count: field('int64', 4),
    },
  },
  PutRequest: { fields: { key: field('bytes', 1), value: field('bytes', 2) } },
  PutResponse: { fields: {} },
  DeleteRangeRequest: { fields: { key: field('bytes', 1) } },
  DeleteRangeResponse: { fields: { deleted: field('int64', 2) } },
  RequestOp: {
    oneofs: { request: { oneof: ['range', 'put', 'deleteRange'] } },
    fields: {
      range: field('RangeRequest', 1),
      put: field('PutRequest', 2),
      deleteRange: field('DeleteRangeRequest', 3),
    },
  },
  ResponseOp: {
    oneofs: { response: { oneof: ['range', 'put', 'deleteRange'] } },
    fields: {
      range: field('RangeResponse', 1),
      put: field('PutResponse', 2),
      deleteRange: field('DeleteRangeResponse', 3),
    },
  },
  Compare: {
    oneofs: { operand: { oneof: ['modRevision'] } },
    fields: {
      result: field('int32', 1),
      target: field('int32', 2),
      key: field('bytes', 3),
      modRevision: field('int64', 6),
    },
  },
  TxnRequest: {
    fields: { compare: list('Compare', 1), success: list('RequestOp', 2), failure: list('RequestOp', 3) },
  },
  TxnResponse: {
    fields: {
      header: field('ResponseHeader', 1),
      succeeded: field('bool', 2),
      responses: list('ResponseOp', 3),
    },
  },
  WatchRequest: {
    oneofs: { request: { oneof: ['create', 'progress'] } },
    fields: { create: field('WatchCreateRequest', 1), progress: field('WatchProgressRequest', 3) },
  },
  WatchCreateRequest: {
    fields: { key: field('bytes', 1), rangeEnd: field('bytes', 2), startRevision: field('int64', 3) },
  },
  WatchProgressRequest: { fields: {} },
  Event: { fields: { type: field('int32', 1), kv: field('KeyValue', 2) } },
  WatchResponse: {
    fields: {
      header: field('ResponseHeader', 1),
      watchId: field('int64', 2),
      created: field('bool', 3),
      canceled: field('bool', 4),
      compactRevision: field('int64', 5),
      cancelReason: field('string', 6),
      events: list('Event', 11),
    },
  },
  AuthenticateRequest: { fields: { name: field('string', 1), password: field('string', 2) } },
  AuthenticateResponse: { fields: { header: field('ResponseHeader', 1), token: field('string', 2) } },
}

const services = {
  KV: {
    methods: {
      Range: { requestType: 'RangeRequest', responseType: 'RangeResponse' },
      Txn: { requestType: 'TxnRequest', responseType: 'TxnResponse' },
    },
  },
  Watch: {
    methods: {
      Watch: {
        requestType: 'WatchRequest',
        requestStream: true,
        responseType: 'WatchResponse',
        responseStream: true,
      },
    },
  },
  Auth: {
    methods: {
      Authenticate: { requestType: 'AuthenticateRequest', responseType: 'AuthenticateResponse' },
    },
  },
}

/** What proto-loader makes codecs of. Package names reach the server only in a service's path. */
export const descriptor = { nested: { etcdserverpb: { nested: { ...messages, ...services } } } }
