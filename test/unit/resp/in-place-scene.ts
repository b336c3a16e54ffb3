/** A node with real generators, and servers that answer from its name table. */
import type { TestContext } from 'node:test'
import type { Access } from '../../../src/auth/access.ts'
import { everything } from '../../../src/auth/access.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { RespServerOptions } from '../../../src/resp/server.ts'
import { type RespServer, startRespServer } from '../../../src/resp/server.ts'
import { type Node, startNode } from '../catalogue/node.ts'
import { Desk } from '../commands/desk.ts'
import { Peer } from './peer.ts'

/** A node, its desk, and a way to connect to it. */
export type Scene = {
  readonly node: Node
  readonly desk: Desk
  readonly errors: unknown[]
  /** A server: `isPlain`: without answers in place. */
  serve(options?: Partial<RespServerOptions> & { readonly isPlain?: boolean }): Promise<RespServer>
  /** A client of a new server. */
  connect(access?: Access): Promise<Peer>
}

/** Starts a node with these generators. It is stopped when the test ends. */
export async function startScene(
  t: TestContext,
  generators: Readonly<Record<string, GeneratorInput>> = { a: { kind: 'sequence' }, b: { kind: 'sequence' } },
): Promise<Scene> {
  const node = await startNode({
    generators,
    autoCreate: [{ pattern: 'auto*', kind: 'sequence' }],
    restAfterMs: 1000,
  })
  const desk = new Desk()
  await desk.namespaces.open()
  const servers: RespServer[] = []
  const errors: unknown[] = []
  t.after(async () => {
    for (const server of servers) await server.close(0)
    desk.namespaces.close()
    await node.stop()
  })
  const serve: Scene['serve'] = async ({ isPlain = false, ...options } = {}) => {
    const { server: view, meters } = desk
    const server = await startRespServer({
      host: '127.0.0.1',
      port: 0,
      table: createCommands(),
      context: (session) => ({
        session,
        catalogue: new MeteredCatalogue(node.catalogue, meters, () => session.access.user),
        server: view,
      }),
      onError: (error) => errors.push(error),
      ...(!isPlain && { generators: { names: node.catalogue.names, meters, incrByMax: view.incrByMax } }),
      ...options,
    })
    servers.push(server)
    return server
  }
  const connect = async (access = everything) => Peer.to(await serve({ initialAccess: () => access }))
  return { node, desk, errors, serve, connect }
}
