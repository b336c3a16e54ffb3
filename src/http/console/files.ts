/**
 * The console: one page, and the files that it loads, as the build has made them. They need no login; what the page shows it asks the HTTP
 * API for, with the credentials that its user gives it.
 *
 * Invariants
 *  1. A file is read once, and compressed once. There are as many as the build has made: no request adds to them.
 *  2. The page runs no script and uses no style but those of this server, and sends requests to nowhere else.
 */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { getAsset } from 'node:sea'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isInExecutable } from '../../installation/threads.ts'
import { type ApiRoute, pageAnswer } from '../api-route.ts'
import { HttpRefusal } from '../problem.ts'
import { pageHeaders } from './html.ts'

/** Beside the built code, or in dist/ where the code is a source file. */
const folder = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/console/' : './console/',
  import.meta.url,
)
const pageFile = 'index.html'
const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
}
/** What the build names by a hash of its content. */
const hashed = /-[\w-]{8,}\.\w+$/

type BuiltFile = { readonly plain: Buffer; readonly compressed: Buffer }

/** Serves the files of the console to `app`. Returns the route of its page. `read`: see `readConsoleFile`. */
export function serveConsole(app: FastifyInstance, read = readConsoleFile): ApiRoute {
  const files = new Map<string, Promise<BuiltFile | undefined>>()
  const open = async (name: string): Promise<BuiltFile | undefined> => {
    const plain = await read(name)
    return plain && { plain, compressed: await promisify(gzip)(plain, { level: 9 }) }
  }
  const send = async (name: string, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    const reading = files.get(name) ?? open(name)
    const file = await reading
    if (file === undefined)
      throw new HttpRefusal(
        404,
        name === pageFile
          ? 'the console is not built here; npm run build makes it, and every package of Fahao has it'
          : 'the console has no such file; load its page again',
      )
    files.set(name, reading)
    const isCompressed = /\bgzip\b/i.test(String(request.headers['accept-encoding']))
    reply.headers({
      ...pageHeaders(request),
      'content-security-policy': policy,
      'content-type': types[extname(name)] ?? 'application/octet-stream',
      vary: 'accept-encoding, origin',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
      ...(hashed.test(name) && { 'cache-control': 'public, max-age=31536000, immutable' }),
    })
    return isCompressed ? file.compressed : file.plain
  }
  app.get<{ Params: { file: string } }>('/console/:file', { config: { access: 'open' } }, (request, reply) =>
    send(request.params.file, request, reply),
  )
  return {
    id: 'console',
    method: 'GET',
    path: '/console',
    tag: 'server',
    command: 'open',
    summary: 'The console: what this node and its cluster do, as pages.',
    answers: { 200: pageAnswer, 404: { description: 'It is not part of this installation.' } },
    errors: [],
    example: {},
    handler: (request, reply) => send(pageFile, request, reply),
  }
}

/** Reads a file of the console; undefined: there is none of this name, or the console was not built. */
export async function readConsoleFile(name: string): Promise<Buffer | undefined> {
  // A name alone, and no path.
  if (!/^\w[\w.-]*$/.test(name)) return undefined
  try {
    return isInExecutable() ? Buffer.from(getAsset(`console/${name}`)) : await readFile(new URL(name, folder))
  } catch {
    return undefined
  }
}
