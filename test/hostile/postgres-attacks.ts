/** What hostile clients of the PostgreSQL protocol do. */

import { type Attack, type Bounds, repeated, some, still, usual } from './attack.ts'
import { mutations, randomBytes } from './attack-bytes.ts'
import { int16, int32, message, parse, postgresLogin, query, startup, sync } from './postgres-messages.ts'

const postgres = { transport: 'postgres', login: true, ...still } as const
const beforeLogin = { transport: 'postgres', login: false, ...still, returns: 'when closed' } as const
const many = { clients: 10_000, perSecond: 4000 }
const large: Bounds = { ...usual, peakMiB: 700 }
const longestBytes = 262_144

/** Every attack by its name. */
export const postgresAttacks: Readonly<Record<string, Attack>> = {
  'pg-silent-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, connections that send nothing',
    request: Buffer.alloc(0),
  },
  'pg-byte-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, one byte a second',
    request: startup('x'.repeat(1000)),
    sends: 'byte',
  },
  'pg-unfinished-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, the longest message without its last byte',
    request: startup('x'.repeat(9900)).subarray(0, -1),
  },
  'pg-lengths-before-login': {
    ...beforeLogin,
    ...some,
    title: 'before the login, messages of 2 GB',
    request: Buffer.concat([int32(0x7fff_ffff), int32(0x3_0000), Buffer.alloc(60_000)]),
    sends: 'repeatedly',
  },
  'pg-random-before-login': {
    ...beforeLogin,
    ...some,
    title: 'before the login, random bytes',
    request: randomBytes(1, 10_000),
    sends: 'repeatedly',
  },
  'pg-passwords': {
    ...beforeLogin,
    clients: 200,
    perSecond: 500,
    title: 'wrong passwords',
    request: Buffer.from(postgresLogin('admin', 'wrong'), 'latin1'),
  },
  'pg-lengths': {
    ...postgres,
    ...some,
    title: 'messages of 2 GB',
    request: Buffer.concat([Buffer.from('Q'), int32(0x7fff_ffff), Buffer.alloc(60_000)]),
    returns: 'when closed',
  },
  'pg-random': {
    ...postgres,
    ...some,
    title: 'random bytes',
    request: randomBytes(2, 10_000),
    returns: 'when closed',
  },
  'pg-mutated': {
    ...postgres,
    ...some,
    title: 'mutated conversations',
    request: mutations(3, conversation(), 4000),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'pg-unfinished': {
    ...postgres,
    clients: 5000,
    perSecond: 4000,
    title: 'messages of 256 KiB without their last byte',
    request: query(' '.repeat(longestBytes - 10)).subarray(0, -1),
    bounds: large,
  },
  'pg-pipeline': {
    ...postgres,
    ...some,
    title: 'pipelines of nextval, 1 MiB each',
    request: repeated(query("SELECT nextval('target')")),
    sends: 'repeatedly',
  },
  'pg-pipeline-unread': {
    ...postgres,
    clients: 1000,
    perSecond: 1000,
    title: 'pipelines of nextval whose replies are not read',
    request: repeated(query("SELECT nextval('target')")),
    sends: 'repeatedly',
    reads: 'nothing',
    bounds: large,
  },
  'pg-batches': {
    ...postgres,
    ...some,
    title: 'batches of 100,000 ids',
    request: repeated(query("SELECT nextval('target') FROM generate_series(1, 100000)"), 8192),
    sends: 'repeatedly',
  },
  'pg-batches-slow': {
    ...postgres,
    clients: 1000,
    perSecond: 1000,
    title: 'batches of 100,000 ids, a chunk read a second',
    request: repeated(query("SELECT nextval('target') FROM generate_series(1, 100000)"), 8192),
    sends: 'repeatedly',
    reads: 'chunk',
    bounds: large,
  },
  'pg-portals': {
    ...postgres,
    clients: 200,
    perSecond: 1000,
    title: 'portals with 100,000 ids, of which one is read',
    request: portals('SELECT nextval($1) FROM generate_series(1, 100000)', 'target'),
    bounds: large,
  },
  'pg-values': {
    ...postgres,
    clients: 200,
    perSecond: 1000,
    title: 'portals with parameters of 256 KiB',
    request: portals('SELECT nextval($1::text)', 'x'.repeat(longestBytes - 100)),
    bounds: large,
  },
  'pg-prepared': {
    ...postgres,
    clients: 200,
    perSecond: 1000,
    title: 'prepared statements without text, with 65,535 types of parameters',
    request: Buffer.concat(
      Array.from({ length: 50 }, (_, at) =>
        message('P', `s${at}\0\0`, int16(65_535), Buffer.alloc(65_535 * 4, 20)),
      ),
    ),
    bounds: large,
  },
  'pg-compiled': {
    ...postgres,
    clients: 200,
    perSecond: 1000,
    title: 'prepared statements with as many words as fit',
    request: Buffer.concat(
      Array.from({ length: 80 }, (_, at) =>
        parse(`s${at}`, `SELECT ${"nextval('target'),".repeat(1660)}nextval('t')`),
      ),
    ),
    bounds: large,
  },
  'pg-columns': {
    ...postgres,
    clients: 200,
    perSecond: 1000,
    title: 'short prepared statements with as many columns as fit',
    bounds: { ...usual, peakMiB: 850 },
    request: Buffer.concat(
      Array.from({ length: 500 }, (_, at) => parse(`s${at}`, `SELECT ${'*,'.repeat(49)}* FROM pg_class`)),
    ),
  },
  'pg-scripts': {
    ...postgres,
    ...some,
    title: 'as many statements in a message as fit, whose compiled form is large',
    request: query('SELECT *, * FROM pg_class LIMIT 0;'.repeat(2000)),
    sends: 'repeatedly',
  },
  'pg-signs': {
    ...postgres,
    ...some,
    title: 'operators, arrays and escapes of 256 KiB',
    request: Buffer.concat([
      query(`SELECT 1 ${'+'.repeat(longestBytes - 100)} 1`),
      query(`SELECT '{${'1,'.repeat(longestBytes / 2 - 100)}1}'::int[]`),
      query(`SELECT E'${'\\\\'.repeat(longestBytes / 2 - 100)}'`),
      query(' '.repeat(longestBytes - 100)),
    ]),
    sends: 'repeatedly',
  },
  'pg-series': {
    ...postgres,
    ...some,
    title: 'generate_series of a thousand million',
    request: repeated(query("SELECT nextval('target') FROM generate_series(1, 1000000000)"), 65_536),
    sends: 'repeatedly',
  },
  'pg-nulls': {
    ...postgres,
    ...some,
    title: 'ten million rows without an id',
    request: Buffer.concat([
      parse('s', 'SELECT nextval($1), nextval($1), nextval($1) FROM generate_series(1, 10000000)'),
      message('B', '\0s\0', int16(0), int16(1), int32(-1), int16(0)),
      message('E', '\0', int32(0)),
      sync(),
    ]),
    sends: 'repeatedly',
    bounds: large,
  },
  'pg-statements': {
    ...postgres,
    ...some,
    title: 'thousands of statements in one message',
    request: query("SELECT nextval('target');".repeat(3300)),
    sends: 'repeatedly',
  },
  'pg-words': {
    ...postgres,
    ...some,
    title: 'other texts in each message, with as many words as fit',
    request: Buffer.concat(Array.from({ length: 20 }, (_, at) => query(`SELECT ${'('.repeat(19_000)}${at}`))),
    sends: 'repeatedly',
  },
  'pg-lists': {
    ...postgres,
    ...some,
    title: 'lists of 9,000 numbers, and sums of as many',
    request: Buffer.concat([
      query(`SELECT 1 WHERE 1 IN (${'2,'.repeat(9000)}3)`),
      query(`SELECT ${'1+'.repeat(9000)}1`),
      query(`SELECT ${'NOT '.repeat(9000)}true`),
      query(`SELECT ${'CASE WHEN true THEN '.repeat(2000)}1${' END'.repeat(2000)}`),
    ]),
    sends: 'repeatedly',
  },
  'pg-strings': {
    ...postgres,
    ...some,
    title: 'strings, comments and names of 256 KiB',
    request: Buffer.concat([
      query(`SELECT '${"''".repeat(130_000)}'`),
      query('/*'.repeat(130_000)),
      query(`SELECT "${'""'.repeat(130_000)}"`),
      query(`SELECT nextval('${'a.'.repeat(130_000)}')`),
    ]),
    sends: 'repeatedly',
  },
  'pg-joins': {
    ...postgres,
    ...some,
    title: 'cross joins of catalogues',
    request: query(
      'SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_attribute d WHERE a.typname < d.attname',
    ),
    sends: 'repeatedly',
    bounds: large,
  },
  'pg-rows': {
    ...postgres,
    ...some,
    title: 'cross joins whose rows are not read',
    request: query('SELECT * FROM pg_type a, pg_type b'),
    sends: 'repeatedly',
    reads: 'chunk',
    bounds: large,
  },
  'pg-regex': {
    ...postgres,
    ...some,
    title: 'regular expressions that try every path',
    request: Buffer.concat([
      query(`SELECT '${'a'.repeat(5000)}' ~ '^(a*)*(a*)*b$'`),
      query(`SELECT '${'a'.repeat(5000)}' ~ '${'(a?)'.repeat(500)}b'`),
      query(`SELECT '${'a'.repeat(5000)}' LIKE '${'%a'.repeat(500)}b'`),
      query(`SELECT 'a' ~ '(((a{1,200}){1,200}){1,200}){1,200}b'`),
    ]),
    sends: 'repeatedly',
  },
  'pg-recursion': {
    ...postgres,
    ...some,
    title: 'recursive queries without an end',
    request: Buffer.concat([
      query('WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t'),
      query("WITH RECURSIVE t(n) AS (SELECT 'x'::text UNION ALL SELECT n || n FROM t) SELECT max(n) FROM t"),
    ]),
    sends: 'repeatedly',
  },
  'pg-texts': {
    ...postgres,
    ...some,
    title: 'functions that make long texts and arrays',
    request: Buffer.concat([
      query("SELECT repeat(repeat('x', 1000000), 1000000)"),
      query("SELECT string_agg(a.typname, repeat('x', 10000)) FROM pg_type a, pg_type b"),
      query('SELECT array_agg(n) FROM generate_series(1, 1000000000) n'),
      query("SELECT replace(repeat('x', 100000), 'x', repeat('y', 100000))"),
    ]),
    sends: 'repeatedly',
  },
}

/** Portals of a transaction that have one parameter, and of which one row is asked for. */
function portals(text: string, value: string): Buffer {
  const bound = (_: unknown, at: number) => [
    message('B', `p${at}\0s\0`, int16(0), int16(1), int32(value.length), value, int16(0)),
    message('E', `p${at}\0`, int32(1)),
  ]
  return Buffer.concat([
    query('BEGIN'),
    parse('s', text),
    ...Array.from({ length: value.length > 1000 ? 10 : 100 }, bound).flat(),
    sync(),
  ])
}

function conversation(): Buffer[] {
  return [
    query("SELECT nextval('target')"),
    query("SELECT nextval('target') FROM generate_series(1, 10); SHOW ALL; SELECT lastval()"),
    query('BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT'),
    query('SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 1'),
    parse('s', 'SELECT nextval($1) FROM generate_series(1, $2)'),
    message('B', 'p\0s\0', int16(0), int16(2), int32(6), 'target', int32(1), '3', int16(1), int16(1)),
    message('D', 'Ss\0'),
    message('D', 'Pp\0'),
    message('E', 'p\0', int32(2)),
    message('C', 'Ss\0'),
    message('H'),
    sync(),
  ]
}
