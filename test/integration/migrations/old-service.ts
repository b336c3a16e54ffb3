/** Stand-ins of old services behind their HTTP, as clients and load balancers meet them. */
import { createServer, type ServerResponse } from 'node:http'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'
import { oldDatabase } from '../../legacy/database.ts'
import { startOldNode } from '../../legacy/old-nodes.ts'
import type { Schema } from '../../legacy/tables.ts'

/** Where each keeps the name of the generator, and how it writes an id. */
const apis: Readonly<
  Record<Schema, { name: (url: URL) => string; answer: (id: bigint, url: URL) => string }>
> = {
  leaf: {
    name: ({ pathname }) => decodeURIComponent(pathname.replace('/api/segment/get/', '')),
    answer: String,
  },
  tinyid: { name: ({ searchParams }) => searchParams.get('bizType') ?? '', answer: String },
  idbuilder: {
    name: ({ searchParams }) => searchParams.get('code') ?? '',
    answer: (id, { pathname }) => (pathname.endsWith('-str') ? `sms_1${id}` : `${id}`),
  },
}

/** Serves a stand-in of an old node on `port`; resolves when it listens. */
export async function serveOldNode(
  lifetime: Lifetime,
  schema: Schema,
  url: string,
  port: number,
): Promise<void> {
  const node = await startOldNode(schema, oldDatabase(lifetime, url))
  const { name, answer } = apis[schema]
  const respond = async (path: string, response: ServerResponse) => {
    const asked = new URL(path, 'http://127.0.0.1')
    try {
      const id = await node.next(name(asked))
      response.end(answer(id, asked))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  }
  const server = createServer((request, response) => void respond(request.url ?? '/', response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  atEnd(lifetime, () => {
    server.close()
    server.closeAllConnections()
  })
}
