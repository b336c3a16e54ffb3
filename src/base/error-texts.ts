/** What each error of the registry means, and what to do. `docs/reference/errors.md` is checked against this table. */
import { type ErrorCode, errorKinds } from './errors.ts'

/** What the reference page says of an error. */
export type ErrorText = {
  /** The meaning, for the reference page. */
  readonly meaning: string
  /** What to do, for the reference page. */
  readonly remedy: string
}

const texts: Readonly<Record<ErrorCode, ErrorText>> = {
  ERR: {
    meaning:
      'The request is malformed: a wrong number of arguments, a value out of range, an unknown command.',
    remedy: 'Correct the request; the message names the argument. Nothing was issued.',
  },
  WRONGTYPE: {
    meaning: 'The generator exists, but its kind or its options do not allow this operation.',
    remedy: 'Use the operation that the message names.',
  },
  NOGENERATOR: {
    meaning: 'There is no generator of this name.',
    remedy:
      'Create it with ID.CREATE, `fahao create` or PUT /v1/generators/{name}, or allow it with --auto-create.',
  },
  EXISTS: {
    meaning: 'A generator of this name exists with another definition.',
    remedy: 'Use another name, alter the generator, or drop it first.',
  },
  KEYUSED: {
    meaning:
      'The key stands for another request: it was used with another number of ids, another gene or another moment.',
    remedy:
      'Give each request a key of its own, and repeat a request as it was; the message says what was asked first.',
  },
  CONFLICT: {
    meaning: 'Another request changed the same generator or record at the same moment.',
    remedy: 'Read the present state, and repeat the change if it is still wanted.',
  },
  STALE: {
    meaning:
      'A newer incarnation of the generator, or a newer leader, has sealed this one out; or the store has been advanced.',
    remedy: 'Send the request again: the node reloads what changed.',
  },
  DRY: {
    meaning: 'No id was buffered, and none could be reserved within issueTimeout.',
    remedy: 'Retry with a pause. The message contains the answer of the engine; check its health.',
  },
  BUSY: {
    meaning: 'Too many requests are already parked, waiting for ids or for a connection.',
    remedy: 'Retry with a pause, or raise the limit that the message names.',
  },
  EXHAUSTED: {
    meaning:
      'The generator has no ids left below its maximum, its time field is full, or no worker id is free.',
    remedy: 'Raise max, choose a wider layout under a new name, or free worker ids, as the message says.',
  },
  NOLEASE: {
    meaning:
      'There is no such lease any more: it was returned, it has ended and another holder has the worker id, another process has renewed it, or the store was advanced.',
    remedy: 'Stop using the worker id, and take a new lease. The same request will not succeed.',
  },
  LAPSED: {
    meaning:
      'The reservation of a number in a ledger does not hold any more: its time has passed, or it was cancelled, voided or forgotten by the store.',
    remedy:
      'Do not use the number: undo what was written with it, and reserve another. The same request will not succeed.',
  },
  CLOCK: {
    meaning:
      'The clock does not allow an id now: more was borrowed from the future than borrowMax. Or an alteration or a lease would reserve time further ahead of the clock than is safe if the store loses writes.',
    remedy:
      'Retry with a pause; the message of an alteration or lease says how long. Where bursts cause it, choose a layout with a wider sequence or a finer unit.',
  },
  WORKERID: {
    meaning: 'This node has no worker id, or another node took the one it had.',
    remedy: 'Give each node a worker id of its own, or use --worker-id pool.',
  },
  NOTOWNER: {
    meaning:
      'Strict kinds are served only by the process that owns the store, and another process owns it; or several nodes share the store, where there is no `timestamp`.',
    remedy:
      'Send strict requests to the owner, or stop it; per-node kinds work here, and on a shared store a `sequence` does.',
  },
  MOVED: {
    meaning:
      'Another node of the cluster leads this strict generator. The message is the slot and the address of that node, as Redis Cluster has it.',
    remedy:
      'Use a cluster-aware client, which follows it, or send the request there; --forward and HTTP do that by themselves.',
  },
  CLUSTERDOWN: {
    meaning: 'No node leads the slots of this generator, and none did for as long as requests may wait.',
    remedy: 'Retry with a pause; if the error persists, check `fahao cluster status` and the engine.',
  },
  CROSSSLOT: {
    meaning: 'One command of a cluster names generators of several slots.',
    remedy:
      'Send a command for each, in a pipeline, or name them so that they share a slot: {shop}order, {shop}refund.',
  },
  EXECABORT: {
    meaning: 'A request of the transaction was refused when it was queued, or EXEC itself was refused.',
    remedy:
      'Correct that request, which got an error of its own, and send the transaction again. Nothing was issued.',
  },
  REGRESSED: {
    meaning:
      'The engine has forgotten acknowledged writes (a restored copy, a failover): reserving has stopped.',
    remedy:
      'Run `fahao advance`, or `fahao restore --skip`, with more than what can have been reserved since.',
  },
  UNAVAILABLE: {
    meaning:
      'The engine, or the leader that the request was forwarded to, could not be reached or failed; nothing was changed.',
    remedy: 'Retry with a pause, and check the health of the engine.',
  },
  UNKNOWN: {
    meaning:
      'The engine, or the leader that the request was forwarded to, did not answer: the request may or may not have been executed.',
    remedy: 'Read the state before repeating a change; ids are never affected, at most a gap stays.',
  },
  UNSAFE: {
    meaning:
      'The answer may be rounded by this client: a JavaScript number holds integers up to 2^53−1 only, and the client has not named a library that reads larger ones.',
    remedy:
      'Use ID.NEXT, which replies strings, or nextText or next in the library; for clients that read 64-bit integers send CLIENT SETINFO LIB-NAME, or set rounding-guard to known.',
  },
  LIMIT: {
    meaning: 'The request is larger than a configured limit, or goes beyond one.',
    remedy: 'Send smaller requests, or raise the limit that the message names.',
  },
  QUOTA: {
    meaning:
      'A quota is used up for now: the ids that a namespace may issue on this node, or the failed logins that an address or a user may have. No id was used.',
    remedy:
      'Retry after the time that the message names, or have an administrator raise the quota (ID.NAMESPACE SET).',
  },
  CONFIG: {
    meaning: 'The configuration is wrong or contradicts what is stored.',
    remedy: 'Correct the key that the message names; `fahao config` shows where each value comes from.',
  },
  ENGINE: {
    meaning: 'The engine cannot be opened or used as it is.',
    remedy: 'Do what the message says: install, upgrade, create or repair it.',
  },
  SHUTDOWN: {
    meaning: 'This node is stopping.',
    remedy: 'Retry on another node, or here once it is back.',
  },
  ABORTED: {
    meaning:
      'The caller stopped waiting: it closed its connection, or cancelled the request. No id was used.',
    remedy: 'Repeat the request if an id is still wanted.',
  },
  NOAUTH: {
    meaning: 'Authentication is required.',
    remedy:
      'Authenticate: with AUTH or HELLO over RESP, with a Basic or Bearer Authorization header over HTTP.',
  },
  WRONGPASS: {
    meaning: 'There is no such user, or the password is wrong.',
    remedy: 'Correct the credentials; `fahao user list` shows the users to an administrator.',
  },
  NOPERM: {
    meaning: 'The user may not run this command, or may not name this generator.',
    remedy: 'Use another user, or have an administrator permit it: ACL SETUSER, `fahao user set`.',
  },
  NOPROTO: {
    meaning: 'HELLO requested a protocol version other than 2 or 3.',
    remedy: 'Use HELLO 2 or HELLO 3.',
  },
}

/** Every published error: its HTTP status, whether a retry can help, what it means and what to do. */
export const errorRegistry: Readonly<Record<ErrorCode, (typeof errorKinds)[ErrorCode] & ErrorText>> =
  Object.freeze(
    Object.fromEntries(
      (Object.keys(texts) as ErrorCode[]).map((code) => [code, { ...errorKinds[code], ...texts[code] }]),
    ) as Record<ErrorCode, (typeof errorKinds)[ErrorCode] & ErrorText>,
  )
