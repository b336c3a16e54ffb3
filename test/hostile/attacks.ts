/** What hostile clients do: those of RESP and HTTP, and all. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { encodeCommand } from '../launch/raw-client.ts'
import { type Attack, basic, repeated, some, still, usual } from './attack.ts'
import { mysqlAttacks } from './mysql-attacks.ts'
import { postgresAttacks } from './postgres-attacks.ts'

const crlf = '\r\n'
const many = { clients: 10_000, perSecond: 4000 }
const resp = { transport: 'resp', login: true, ...still } as const
const beforeAuth = { transport: 'resp', login: false, ...still } as const
const http = { transport: 'http', login: true, ...still } as const
const httpBeforeAuth = { transport: 'http', login: false, ...still } as const

/** Every attack by its name. */
export const attacks: Readonly<Record<string, Attack>> = {
  'unfinished-before-auth': {
    ...beforeAuth,
    ...many,
    title: 'before AUTH, the largest request without its last byte',
    request: largest().subarray(0, -1),
    returns: 'when closed',
  },
  'unread-before-auth': {
    ...beforeAuth,
    ...many,
    title: 'before AUTH, requests whose errors are not read',
    request: repeated(encodeCommand(['PING']), 65_536),
    sends: 'repeatedly',
    reads: 'nothing',
    returns: 'when closed',
  },
  'silent-before-auth': {
    ...beforeAuth,
    ...many,
    title: 'before AUTH, connections that send nothing',
    request: Buffer.alloc(0),
    returns: 'when closed',
  },
  'byte-before-auth': {
    ...beforeAuth,
    ...many,
    title: 'before AUTH, one byte a second',
    request: encodeCommand(['AUTH', 'x'.repeat(1000)]),
    sends: 'byte',
    returns: 'when closed',
  },
  connects: {
    ...beforeAuth,
    title: '10,000 connections a second, closed at once',
    clients: 2000,
    perSecond: 10_000,
    request: encodeCommand(['PING']),
    returns: 'hastily',
  },
  unfinished: {
    ...resp,
    clients: 5000,
    perSecond: 4000,
    title: 'requests of 1 MiB without their last byte',
    request: unfinished(1_040_000),
    bounds: { ...usual, peakMiB: 700 },
  },
  byte: {
    ...resp,
    clients: 5000,
    perSecond: 4000,
    title: 'one byte a second',
    request: encodeCommand(['SET', 'x'.repeat(200), 'y'.repeat(1000)]),
    sends: 'byte',
  },
  'pipeline-ping': {
    ...resp,
    ...some,
    title: 'pipelines of PING, 1 MiB each',
    request: repeated(encodeCommand(['PING'])),
    sends: 'repeatedly',
  },
  'pipeline-incr': {
    ...resp,
    ...some,
    title: 'pipelines of INCR, 1 MiB each',
    request: repeated(encodeCommand(['INCR', 'target'])),
    sends: 'repeatedly',
  },
  'pipeline-unread': {
    ...resp,
    clients: 1000,
    perSecond: 1000,
    title: 'pipelines of INCR whose replies are not read',
    request: repeated(encodeCommand(['INCR', 'target'])),
    sends: 'repeatedly',
    reads: 'nothing',
    bounds: { ...usual, peakMiB: 700 },
  },
  batches: {
    ...resp,
    ...some,
    title: 'batches of 100,000 ids',
    request: repeated(encodeCommand(['ID.NEXT', 'target', 'COUNT', '100000']), 8192),
    sends: 'repeatedly',
  },
  'batches-slow': {
    ...resp,
    clients: 1000,
    perSecond: 1000,
    title: 'batches of 100,000 ids, a chunk read a second',
    request: repeated(encodeCommand(['ID.NEXT', 'target', 'COUNT', '100000']), 8192),
    sends: 'repeatedly',
    reads: 'chunk',
    bounds: { ...usual, peakMiB: 700 },
  },
  nesting: {
    ...resp,
    ...some,
    title: 'nested arrays',
    request: Buffer.from('*1\r\n'.repeat(16_000)),
    returns: 'when closed',
  },
  quotes: {
    ...resp,
    ...some,
    title: 'inline commands of 64 KiB, all quotes',
    request: Buffer.from(`${'"\\x41\\"\'" '.repeat(900)}${'"'.repeat(2)}\n`.repeat(20)),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  scans: {
    ...resp,
    ...some,
    title: 'KEYS with a pattern of many stars',
    request: repeated(encodeCommand(['KEYS', `${'*a'.repeat(500)}b`])),
    sends: 'repeatedly',
  },
  'http-headers': {
    ...httpBeforeAuth,
    ...many,
    title: 'headers of 16 KiB without their end',
    request: head(`x: ${'y'.repeat(15_000)}`),
    returns: 'when closed',
  },
  'http-byte': {
    ...httpBeforeAuth,
    ...many,
    title: 'one byte a second',
    request: head(`x: ${'y'.repeat(15_000)}`),
    sends: 'byte',
    returns: 'when closed',
  },
  'http-bodies': {
    ...httpBeforeAuth,
    ...many,
    title: 'bodies of 64 KiB without their last byte',
    request: Buffer.concat([
      head('content-type: application/json', 'content-length: 65536', ''),
      Buffer.alloc(65_535, ' '),
    ]),
    returns: 'when closed',
    bounds: { ...usual, peakMiB: 700 },
  },
  'http-chunks': {
    ...httpBeforeAuth,
    title: 'bodies in chunks of one byte',
    clients: 300,
    perSecond: 1000,
    request: chunked(1, 170_000),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'http-chunks-allowed': {
    ...httpBeforeAuth,
    title: 'bodies in the shortest chunks that are not refused',
    clients: 300,
    perSecond: 1000,
    request: chunked(1024, 1000),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'http-connects': {
    ...httpBeforeAuth,
    title: '10,000 connections a second, closed at once',
    clients: 2000,
    perSecond: 10_000,
    request: head('', ''),
    returns: 'hastily',
  },
  'http-nesting': {
    ...http,
    ...some,
    title: 'nested JSON of 64 KiB',
    request: json(`${'['.repeat(32_000)}"__proto__"${']'.repeat(32_000)}`),
    sends: 'repeatedly',
  },
  'http-pipeline': {
    ...http,
    ...some,
    title: 'pipelined requests',
    request: repeated(head(basic('attacker'), '', ''), 65_536),
    sends: 'repeatedly',
    returns: 'when closed',
  },
  'http-unread': {
    ...http,
    clients: 1000,
    perSecond: 1000,
    title: 'pipelined batches that are not read',
    request: Buffer.from(
      `POST /v1/generators/target/next?count=100000 HTTP/1.1${crlf}host: localhost${crlf}${basic('attacker')}${crlf}content-length: 0${crlf}${crlf}`.repeat(
        100,
      ),
    ),
    reads: 'nothing',
    bounds: { ...usual, peakMiB: 700 },
  },
  'http-live': {
    ...http,
    clients: 1000,
    perSecond: 1000,
    title: 'live streams that are not read, with requests behind them',
    request: Buffer.concat([stream(basic('attacker')), repeated(head(basic('attacker'), '', ''), 32_768)]),
    reads: 'nothing',
    returns: 'when closed',
  },
  'http-live-connects': {
    ...http,
    clients: 500,
    perSecond: 2000,
    title: 'live streams, dropped at once',
    request: stream(basic('attacker')),
    returns: 'hastily',
  },
  'http-files': {
    ...httpBeforeAuth,
    clients: 1000,
    perSecond: 1000,
    title: 'the largest file of the console, not compressed and not read',
    request: repeated(get(largestFile()), 4096),
    reads: 'nothing',
    returns: 'when closed',
    bounds: { ...usual, peakMiB: 700 },
  },
  ...postgresAttacks,
  ...mysqlAttacks,
}

/** A request for a live stream, which names as many generators as it may. */
function stream(...lines: readonly string[]): Buffer {
  const names = Array.from({ length: 10 }, (_, index) => `${'n'.repeat(250)}${index}`)
  return get(`/v1/live?generators=${names.join(',')}`, ...lines)
}

/** A request for what is at a path. */
function get(path: string, ...lines: readonly string[]): Buffer {
  return Buffer.from([`GET ${path} HTTP/1.1`, 'host: localhost', ...lines, '', ''].join(crlf))
}

/** The path of the viewer of the API reference, which is more than 1.7 MB. */
function largestFile(): string {
  const names = readdirSync(join(import.meta.dirname, '../../dist/console'))
  return `/console/${names.find((name) => /^viewer-.*\.js$/.test(name))}`
}

/** As large as a request before AUTH may be. */
function largest(): Buffer {
  return encodeCommand(['HELLO', '3', 'AUTH', 'x'.repeat(16_384), 'y'.repeat(16_100)])
}

/** A request of about `bytes` bytes, of arguments that are as long as they may be. */
function unfinished(bytes: number): Buffer {
  const parts = Array.from({ length: Math.floor(bytes / 65_000) }, () => 'x'.repeat(64_900))
  return encodeCommand(['MGET', ...parts]).subarray(0, -1)
}

/** The head of a request for an id, with further lines; an empty one ends it. */
function head(...lines: readonly string[]): Buffer {
  const first = ['POST /v1/generators/target/next HTTP/1.1', 'host: localhost']
  return Buffer.from([...first, ...lines.filter((line, at) => line !== '' || at > 0), ''].join(crlf))
}

/** A request with `count` chunks of `bytes` bytes. */
function chunked(bytes: number, count: number): Buffer {
  const chunk = `${bytes.toString(16)}${crlf}${' '.repeat(bytes)}${crlf}`
  const start = head('content-type: application/json', 'transfer-encoding: chunked', '')
  return Buffer.concat([start, Buffer.from(`${chunk.repeat(count)}0${crlf}${crlf}`)])
}

function json(text: string): Buffer {
  const type = 'content-type: application/json'
  return Buffer.concat([
    Buffer.from(
      `PUT /v1/generators/x HTTP/1.1${crlf}host: localhost${crlf}${basic('attacker')}${crlf}${type}${crlf}content-length: ${Buffer.byteLength(text)}${crlf}${crlf}`,
    ),
    Buffer.from(text),
  ])
}
