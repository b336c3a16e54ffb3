/**
 * Ids for the MySQL proxy from a Fahao service, through fahao-client: segments and snowflakes are leased ahead, strict kinds
 * are asked for.
 */
import { connect } from '../../client/src/index.ts'
import type { IdMaker } from '../proxy/id-supply.ts'
import { goneError } from '../proxy/id-supply.ts'
import type { DrawnIds } from '../proxy/sql/fill-ids.ts'
import { type CredentialOptions, passwordOrToken } from './credentials.ts'
import { UsageError } from './exit-codes.ts'
import { fetchWith, type TlsFiles } from './http-request.ts'

/** How the service is reached. */
export type SupplyOptions = TlsFiles &
  CredentialOptions & {
    /** The nodes of one service, which are tried in turn. */
    readonly urls: readonly string[]
    /** How long a statement waits for its ids, in ms. */
    readonly timeoutMs: number
  }

/** A maker of ids, and what gives its leases back. */
export type ClientSupply = IdMaker & { close(): Promise<void> }

type Client = Awaited<ReturnType<typeof connect>>
type Generator = Awaited<ReturnType<Client['generator']>>

/**
 * Prepares a client; connections open at the first request, so the proxy may start before the service. Rejects with UsageError for
 * options that contradict each other.
 */
export async function clientSupply({
  urls,
  user,
  tokenFile,
  timeoutMs,
  ...files
}: SupplyOptions): Promise<ClientSupply> {
  const credentials = await passwordOrToken({
    ...(user !== undefined && { user }),
    ...(tokenFile !== undefined && { tokenFile }),
  })
  const hasFiles = Object.values(files).some((file) => file !== undefined)
  const client = await connect(urls, {
    ...credentials,
    fetch: asProgram(hasFiles ? fetchWith(files) : fetch),
    holder: 'fahao proxy',
    lazyConnect: true,
    timeoutMs,
    // A node that does not answer leaves time for the others, and for a second try where there are none.
    attemptTimeoutMs: timeoutMs / Math.max(2, urls.length),
  }).catch((error) => {
    throw new UsageError(`proxy-url: ${error instanceof Error ? error.message : String(error)}`)
  })
  return new Supply(client)
}

/** `ask` without the client's name: nodes advise with commands then, and not with calls of the package. */
function asProgram(ask: typeof fetch): typeof fetch {
  return (input, init) => {
    const headers = { ...(init?.headers as Readonly<Record<string, string>>), accept: 'application/json' }
    return ask(input, { ...init, headers })
  }
}

class Supply implements ClientSupply {
  readonly #client: Client
  /** Those that have answered. */
  readonly #generators = new Map<string, Generator>()

  constructor(client: Client) {
    this.#client = client
  }

  tryDraw(name: string, count: number): DrawnIds | undefined {
    const generator = this.#generators.get(name)
    if (generator === undefined || count > 1) return undefined
    const isText = generator.isFormatted
    const id = isText ? generator.tryNextText() : generator.tryNext()
    return id === undefined ? undefined : { ids: [String(id)], isText }
  }

  async draw(name: string, count: number, signal: AbortSignal, contiguous: boolean): Promise<DrawnIds> {
    const generator = await this.#opened(name, signal)
    const isText = generator.isFormatted
    if (isText) return { ids: await generator.nextTexts(count, { signal }), isText }
    const ids = await generator.nextBatch(count, { signal, contiguous })
    return { ids: ids.map(String), isText }
  }

  open(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#opened(name, signal)
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async #opened(name: string, signal: AbortSignal): Promise<Generator> {
    const generator = this.#generators.get(name) ?? (await this.#client.generator(name))
    this.#generators.set(name, generator)
    // Opening one has no signal, and draws no id.
    if (signal.aborted) throw goneError()
    return generator
  }
}
