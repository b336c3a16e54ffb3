/** A node in memory with the compatible APIs, asked without a socket. */
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { GeneratorInput } from '../../../../src/catalogue/generator-options.ts'
import { type CompatName, compatNames } from '../../../../src/config/compat-settings.ts'
import { loadConfig } from '../../../../src/config/load-config.ts'
import type { Engine } from '../../../../src/engine/engine.ts'
import { buildHttpApp } from '../../../../src/http/app.ts'
import { openAnyEngine } from '../../../../src/legacy/open.ts'
import type { FahaoNode } from '../../../../src/node/node.ts'
import { startNode } from '../../../../src/node/start.ts'
import { atEnd, type Lifetime } from '../../../launch/lifetime.ts'

/** What is served, and what failed in it. */
export type Served = {
  readonly node: FahaoNode
  /** The engine below the node's: a replaced method changes what the node's calls do. */
  readonly store: Engine
  readonly app: FastifyInstance
  readonly faults: object[]
  /** What an answer says: status, content type without parameters, body. */
  ask(url: string, more?: InjectOptions): Promise<[status: number, type: string, body: string]>
}

/** Starts it with these generators; it ends with the test. */
export async function serve(
  lifetime: Lifetime,
  generators: Readonly<Record<string, GeneratorInput>> = {},
  options: { readonly flags?: Record<string, string>; readonly compat?: readonly CompatName[] } = {},
): Promise<Served> {
  const { config } = loadConfig({ flags: { engine: 'memory:', ...options.flags } })
  const opened = Promise.withResolvers<Engine>()
  const open = async (...args: Parameters<typeof openAnyEngine>) => {
    const engine = await openAnyEngine(...args)
    opened.resolve(engine)
    return engine
  }
  const node = await startNode(config, { open })
  atEnd(lifetime, () => node.close())
  for (const [name, input] of Object.entries(generators)) await node.catalogue.create(name, input)
  const faults: object[] = []
  const app = buildHttpApp({
    node,
    host: '127.0.0.1',
    compat: options.compat ?? compatNames,
    log: { error: (fields) => void faults.push(fields) },
  })
  atEnd(lifetime, () => app.close())
  return {
    node,
    store: await opened.promise,
    app,
    faults,
    async ask(url, more = {}) {
      const { statusCode, headers, body } = await app.inject({ method: 'GET', url, ...more } as InjectOptions)
      return [statusCode, String(headers['content-type']), body]
    },
  }
}
