/** What hostile clients of the MySQL proxy do. */
import { commandOf, packetOf } from '../launch/raw-mysql.ts'
import { type Attack, type Bounds, repeated, some, still, usual } from './attack.ts'
import { mutations, randomBytes } from './attack-bytes.ts'

const mysql = { transport: 'mysql', login: true, ...still } as const
const beforeLogin = { transport: 'mysql', login: false, ...still, returns: 'when closed' } as const
/** The database behind the proxy has a thread for each. */
const many = { clients: 2000, perSecond: 1000 }
const large: Bounds = { ...usual, peakMiB: 700 }
const commands = { query: 0x03, ping: 0x0e, changeUser: 0x11, prepare: 0x16, execute: 0x17, longData: 0x18 }
const partBytes = 0xff_ff_ff

/** Every attack by its name. */
export const mysqlAttacks: Readonly<Record<string, Attack>> = {
  'mysql-silent-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, connections that send nothing',
    request: Buffer.alloc(0),
  },
  'mysql-byte-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, one byte a second',
    request: packetOf(response('x'.repeat(1000)), 1),
    sends: 'byte',
  },
  'mysql-unfinished-before-login': {
    ...beforeLogin,
    ...many,
    title: 'before the login, 1 MiB without its last byte',
    request: packetOf(response('x'.repeat(1_000_000)), 1).subarray(0, -1),
  },
  'mysql-parts-before-login': {
    ...beforeLogin,
    ...some,
    title: 'before the login, parts of 16 MiB without end',
    request: part(1),
    sends: 'repeatedly',
  },
  'mysql-early': {
    ...beforeLogin,
    ...some,
    title: 'before the login is over, commands without end',
    request: Buffer.concat([
      packetOf(response('attacker', 'mysql_clear_password'), 1),
      repeated(packetOf(commandOf(commands.query, 'SELECT 1'))),
    ]),
    sends: 'repeatedly',
  },
  'mysql-random-before-login': {
    ...beforeLogin,
    ...some,
    title: 'before the login, random bytes',
    request: randomBytes(4, 10_000),
    sends: 'repeatedly',
  },
  'mysql-passwords': {
    ...beforeLogin,
    clients: 200,
    perSecond: 500,
    title: 'wrong passwords',
    request: packetOf(response('fahao', 'mysql_native_password', Buffer.alloc(20, 1)), 1),
  },
  'mysql-random': {
    ...mysql,
    ...some,
    title: 'random bytes',
    request: randomBytes(5, 10_000),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'mysql-mutated': {
    ...mysql,
    ...some,
    title: 'mutated conversations',
    request: mutations(6, conversation(), 4000),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'mysql-parts': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'a statement in parts of 16 MiB without end',
    request: part(0),
    sends: 'repeatedly',
    returns: 'when closed',
    bounds: large,
  },
  'mysql-unfinished': {
    ...mysql,
    clients: 1000,
    perSecond: 1000,
    title: 'INSERT statements of 1 MiB without their last byte',
    request: query(`INSERT INTO target (body) VALUES ('${'x'.repeat(1_048_576)}')`).subarray(0, -1),
    bounds: large,
  },
  'mysql-pipeline': {
    ...mysql,
    ...some,
    title: 'pipelined commands',
    request: repeated(packetOf(commandOf(commands.ping)), 65_536),
    sends: 'repeatedly',
  },
  'mysql-pipeline-unread': {
    ...mysql,
    ...some,
    title: 'pipelined commands whose replies are not read',
    request: repeated(packetOf(commandOf(commands.ping)), 65_536),
    sends: 'repeatedly',
    reads: 'nothing',
  },
  'mysql-refused-unread': {
    ...mysql,
    ...some,
    title: 'unknown commands whose errors are not read',
    request: repeated(packetOf(commandOf(0x0f)), 65_536),
    sends: 'repeatedly',
    reads: 'nothing',
  },
  'mysql-rows-slow': {
    ...mysql,
    ...some,
    title: 'results of 100 MB, a chunk read a second',
    request: query("SELECT REPEAT('x', 10000) FROM seq_1_to_10000"),
    reads: 'chunk',
  },
  'mysql-inserts': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'pipelined INSERT statements',
    request: repeated(query("INSERT INTO target (body) VALUES ('x')"), 65_536),
    sends: 'repeatedly',
  },
  'mysql-inserts-unread': {
    ...mysql,
    ...some,
    title: 'pipelined INSERT statements whose replies are not read',
    request: repeated(query("INSERT INTO target (body) VALUES ('x')"), 65_536),
    sends: 'repeatedly',
    reads: 'nothing',
  },
  'mysql-rows': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'INSERT statements of 100,000 rows',
    request: query(`INSERT INTO target (body) VALUES ${"('x'),".repeat(99_999)}('x')`),
    sends: 'repeatedly',
    bounds: large,
  },
  'mysql-statements': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'thousands of statements in one packet',
    request: query("INSERT INTO target (body) VALUES ('x');".repeat(10_000)),
    sends: 'repeatedly',
  },
  'mysql-texts': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'INSERT statements of 1 MiB that nest, quote and comment',
    request: Buffer.concat(
      ['(', "'", '/*', '`', '/*!50000 ', '"\\"', '-- \n', '_utf8'].map((text) =>
        query(`INSERT INTO target (body) VALUES (${text.repeat(1_048_576 / text.length)}`),
      ),
    ),
    sends: 'repeatedly',
  },
  'mysql-prepared': {
    ...mysql,
    clients: 20,
    perSecond: 1000,
    title: 'prepared INSERT statements without end',
    request: repeated(
      packetOf(commandOf(commands.prepare, `INSERT INTO target (body) VALUES ${'(?),'.repeat(100)}(?)`)),
    ),
    sends: 'repeatedly',
    bounds: large,
  },
}

/** The answer of a user without a password to the greeting, as Latin-1. */
export function mysqlLogin(user: string): string {
  return packetOf(response(user), 1).toString('latin1')
}

/** Protocol 4.1, several statements and results, plugins, the database `shop`. */
export function response(user: string, plugin = 'mysql_native_password', proof = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(32)
  head.writeUInt32LE(0x200 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x4_0000 | 0x8_0000 | 8)
  head.writeUInt32LE(2 ** 24, 4)
  head[8] = 45
  return Buffer.concat([
    head,
    Buffer.from(`${user}\0`),
    Buffer.from([proof.length]),
    proof,
    Buffer.from(`shop\0${plugin}\0`),
  ])
}

/** A COM_QUERY. */
export function query(text: string): Buffer {
  return packetOf(commandOf(commands.query, text))
}

/** A part of a payload that says that another one follows. */
function part(sequence: number): Buffer {
  return packetOf(commandOf(commands.query, Buffer.alloc(partBytes - 1, ' ')), sequence)
}

function conversation(): Buffer[] {
  const execute = Buffer.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 253, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 120])
  return [
    query("INSERT INTO target (body) VALUES ('x'), ('y')"),
    query("INSERT INTO target (id, body) VALUES (NULL, 'x') ON DUPLICATE KEY UPDATE body = 'y'"),
    query('SELECT 1; SELECT 2'),
    query('SET sql_mode = ANSI_QUOTES'),
    packetOf(commandOf(commands.prepare, 'INSERT INTO target (id, body) VALUES (?, ?)')),
    packetOf(commandOf(commands.execute, execute)),
    packetOf(commandOf(commands.longData, Buffer.from([1, 0, 0, 0, 1, 0, 120, 121, 122]))),
    packetOf(commandOf(commands.changeUser, 'attacker\0\0shop\0\x2d\0mysql_native_password\0')),
    packetOf(commandOf(commands.ping)),
  ]
}
