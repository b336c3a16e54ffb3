/**
 * The first messages of a connection: what the client asks for before it logs in. connection-messages.ts asks for the
 * password.
 * https://www.postgresql.org/docs/15/protocol-message-formats.html (StartupMessage, SSLRequest, CancelRequest), and for
 * version 3.2 https://www.postgresql.org/docs/18/protocol-message-formats.html
 */
import { protocolViolation } from './errors.ts'
import { type Frames, MessageReader } from './frames.ts'
import { SqlError } from './sql-error.ts'

/** Longest first message, and longest password message: as PostgreSQL's. */
export const startBytesMax = 10_000

/** What the client wants. `encryption`: TLS, or GSSAPI, before anything else. */
export type StartRequest =
  | { readonly wants: 'tls' | 'gssapi' }
  | { readonly wants: 'cancel'; readonly key: string }
  | StartMessage

/** The client wants to log in. */
export type StartMessage = {
  readonly wants: 'login'
  readonly user: string
  readonly database: string
  /** Parameters of the session, in order. */
  readonly settings: readonly (readonly [name: string, value: string])[]
  /** The newest minor version of protocol 3 that both know. */
  readonly minor: number
  /** The unknown options in NegotiateProtocolVersion; undefined: it is not sent. */
  readonly negotiated: { readonly unknown: readonly string[] } | undefined
}

const tlsCode = 80877103
const gssapiCode = 80877104
const cancelCode = 80877102
/** 3.1 was never a version. */
const newestMinor = 2

/** Reads a first message. Throws 08P01, 0A000, 28000. */
export function readStart(frames: Frames): StartRequest {
  const reader = new MessageReader(frames)
  const code = reader.int32()
  if (code === tlsCode) return { wants: 'tls' }
  if (code === gssapiCode) return { wants: 'gssapi' }
  if (code === cancelCode) return { wants: 'cancel', key: reader.take(reader.left).toString('latin1') }
  const [major, minor] = [code >>> 16, code & 0xffff]
  if (major !== 3)
    throw new SqlError(
      '0A000',
      `unsupported frontend protocol ${major}.${minor}: server supports 3.0 to 3.${newestMinor}`,
    )
  return readLogin(reader, minor)
}

function readLogin(reader: MessageReader, minor: number): StartMessage {
  const given: [string, string][] = []
  for (let name = reader.text(); name !== ''; name = reader.text()) given.push([name, reader.text()])
  reader.finish()
  const parameter = (wanted: string) => given.find(([name]) => name === wanted)?.[1]
  const user = parameter('user')
  if (!user) throw new SqlError('28000', 'no PostgreSQL user name specified in startup packet')
  const replication = parameter('replication')
  if (replication !== undefined && !/^(?:false|off|no|0)$/i.test(replication))
    throw new SqlError('0A000', 'replication is not supported: this server has no write-ahead log')
  const unknown = given.map(([name]) => name).filter((name) => name.startsWith('_pq_.'))
  const isKnown = minor === 0 || minor === newestMinor
  const own = ['user', 'database', 'replication', 'options']
  return {
    wants: 'login',
    user,
    database: parameter('database') || user,
    settings: [
      ...settingsOf(parameter('options') ?? ''),
      ...given.filter(([name]) => !own.includes(name) && !name.startsWith('_pq_.')),
    ],
    minor: isKnown ? minor : minor > newestMinor ? newestMinor : 0,
    negotiated: isKnown && unknown.length === 0 ? undefined : { unknown },
  }
}

/** The settings of `-c name=value` and `--name=value`. A backslash keeps a space in a value. */
function settingsOf(options: string): [string, string][] {
  const words = [...options.matchAll(/(?:\\[\s\S]|[^\s\\])+/g)].map(([word]) =>
    word.replaceAll(/\\([\s\S])/g, '$1'),
  )
  const settings: [string, string][] = []
  for (let index = 0; index < words.length; index++) {
    let word = words[index]!
    if (word === '-c') word = words[++index] ?? ''
    else if (word.startsWith('-c') || word.startsWith('--')) word = word.slice(2)
    else throw protocolViolation(`invalid command-line argument for server process: ${word.slice(0, 64)}`)
    const equals = word.indexOf('=')
    if (equals < 1) throw protocolViolation(`-c ${word.slice(0, 64)} requires a value`)
    settings.push([word.slice(0, equals).replaceAll('-', '_'), word.slice(equals + 1)])
  }
  return settings
}
