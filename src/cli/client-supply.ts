/**
 * Ids for the MySQL proxy from a Fahao service, through fahao-client: segments and snowflakes are leased ahead, strict kinds
 * are asked for.
 */
import { connect } from '#client'
import { type ErrorCode, errorKinds, FahaoError } from '../base/errors.ts'
import type { IdSupply } from '../proxy/id-supply.ts'
import { type CredentialOptions, passwordOrToken } from './credentials.ts'
import { UsageError } from './exit-codes.ts'
import { fetchWith, type TlsFiles } from './http-request.ts'

/** How the service is reached. */
export type SupplyOptions = TlsFiles & CredentialOptions & { readonly url: string }

/** A supply, and what gives its leases back. */
export type ClientSupply = IdSupply & { close(): Promise<void> }

type Client = Awaited<ReturnType<typeof connect>>
type Generator = Awaited<ReturnType<Client['generator']>>
type Drawn = { readonly ids: readonly string[]; readonly isText: boolean }

/** Prepares a client; connections open at the first request. Rejects with UsageError for options that contradict each other. */
export async function clientSupply({ url, user, tokenFile, ...files }: SupplyOptions): Promise<ClientSupply> {
  const credentials = await passwordOrToken({
    ...(user !== undefined && { user }),
    ...(tokenFile !== undefined && { tokenFile }),
  })
  const hasFiles = Object.values(files).some((file) => file !== undefined)
  const client = await connect(url, {
    ...credentials,
    ...(hasFiles && { fetch: fetchWith(files) }),
    holder: 'fahao proxy',
  }).catch((error) => {
    throw new UsageError(`--url: ${error instanceof Error ? error.message : String(error)}`)
  })
  return new Supply(client)
}

class Supply implements ClientSupply {
  readonly #client: Client
  /** Those that have answered. */
  readonly #open = new Map<string, Generator>()

  constructor(client: Client) {
    this.#client = client
  }

  take(name: string, count: number, signal: AbortSignal): Drawn | Promise<Drawn> {
    const generator = this.#open.get(name)
    if (generator === undefined || count > 1) return this.#draw(name, count, signal)
    const isText = generator.isFormatted
    const id = isText ? generator.tryNextText() : generator.tryNext()
    return id === undefined ? this.#draw(name, count, signal) : { ids: [String(id)], isText }
  }

  isText(name: string, signal: AbortSignal): boolean | Promise<boolean> {
    const generator = this.#open.get(name)
    if (generator !== undefined) return generator.isFormatted
    return this.#draw(name, 0, signal).then(({ isText }) => isText)
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async #draw(name: string, count: number, signal: AbortSignal): Promise<Drawn> {
    try {
      const generator = this.#open.get(name) ?? (await this.#client.generator(name))
      this.#open.set(name, generator)
      const isText = generator.isFormatted
      if (count === 0) return { ids: [], isText }
      if (isText) return { ids: await generator.nextTexts(count, { signal }), isText }
      return { ids: (await generator.nextBatch(count, { signal })).map(String), isText }
    } catch (error) {
      throw asOwn(error)
    }
  }
}

/** The client's package has a class of errors of its own. */
function asOwn(error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !Object.hasOwn(errorKinds, code)) return error
  return new FahaoError(code as ErrorCode, message ?? code, { cause: error })
}
