/**
 * Redis's commands that have no meaning for generators, each with a sentence that says what to do instead. They
 * are not commands: COMMAND does not list them, and they answer the same however many words they are given.
 */

const lowers =
  'ids are only ever issued, never taken back; use INCR or ID.NEXT, and ID.CREATE … INCREMENT n for a larger distance'
const noValues =
  'Fahao keeps generators of ids, no values; INCR or ID.NEXT returns the next id, GET the newest, and ID.HELP lists the rest'
const noTypes = 'Fahao issues ids and keeps no other data; use a Redis for that, and INCR or ID.NEXT here'
const noExpiry =
  'generators do not expire, or their ids would repeat; drop one with DEL when it is not needed any more'
const noScripts =
  'there are no scripts; take several ids at once with ID.NEXT name COUNT n or ID.RANGE name n'
const noFlush =
  'there is no command that drops every generator: ids would repeat; drop them one by one with DEL or ID.DROP'
const noMessages = 'there are no channels and no events; poll with GET or ID.INFO, or look at /metrics'
const noMoves =
  "a generator's name is part of its identity and cannot be changed; create another with ID.CREATE, above the old one's newest id with START n"
const noSaving =
  'there is nothing to save: an id leaves only when its bound is durable; fahao backup copies what is stored'
const noReplicas = 'nodes are equal and share an engine; there is no replication between them to set up'
const noMeeting =
  'nodes find each other in the engine; start one with the same --engine and --cluster, and stop one with SIGTERM'
const noSlots = 'slots are shared out by themselves; move a shard with fahao cluster move'
const noObjects = 'generators are no Redis objects; ID.INFO name describes one'

const bySentence: readonly (readonly [sentence: string, names: string])[] = [
  [lowers, 'decr decrby incrbyfloat'],
  [
    noValues,
    'append getdel getex getrange getset setrange strlen substr mset msetnx setbit getbit bitcount bitop',
  ],
  [
    noTypes,
    'hset hget hmset hmget hgetall hdel hincrby lpush rpush lpop rpop llen lrange sadd srem smembers scard',
  ],
  [noTypes, 'zadd zrange zrem zscore zincrby zcard xadd xread xrange xlen pfadd pfcount geoadd geosearch'],
  [noExpiry, 'expire expireat pexpire pexpireat expiretime pexpiretime persist setex psetex'],
  [noScripts, 'eval evalsha eval_ro evalsha_ro fcall fcall_ro script function'],
  [noFlush, 'flushall flushdb swapdb'],
  [
    noMessages,
    'subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish spublish pubsub monitor',
  ],
  [noMoves, 'rename renamenx copy move migrate dump restore sort sort_ro'],
  [noSaving, 'save bgsave bgrewriteaof lastsave'],
  [noReplicas, 'replicaof slaveof sync psync replconf failover wait waitaof cluster|replicas cluster|slaves'],
  [noMeeting, 'cluster|meet cluster|forget cluster|reset cluster|replicate cluster|links'],
  [
    noSlots,
    'cluster|addslots cluster|addslotsrange cluster|delslots cluster|delslotsrange cluster|flushslots cluster|setslot cluster|getkeysinslot',
  ],
  [noObjects, 'object touch debug memory'],
  ['stop the process with SIGTERM: it releases what it has not issued', 'shutdown'],
  [
    'settings are changed by flags, environment or the config file, and need a restart',
    'config|set config|rewrite',
  ],
  ['counters are never reset; take differences, as /metrics is made for', 'config|resetstat'],
  ['users are kept in the engine, and a change is durable when it is acknowledged', 'acl|load acl|save'],
  ['replies are never turned off; send the commands in a pipeline', 'client|reply'],
]

/** The errors instead of `unknown command`, by name in lower case; `config|set` for a subcommand. */
export const refusals: ReadonlyMap<string, string> = new Map(
  bySentence.flatMap(([sentence, names]) =>
    names
      .split(' ')
      .map((name) => [name, `${name.replace('|', ' ').toUpperCase()} is not supported: ${sentence}`]),
  ),
)
