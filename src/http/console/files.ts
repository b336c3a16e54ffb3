/**
 * The console: one page, and the files that it loads, as the build has made them. They need no login; what the page shows it asks the HTTP
 * API for, with the credentials that its user gives it.
 *
 * Invariants
 *  1. A file is sent only by the name that the build has given it, letter by letter: the names are read once, at the start. Some file
 *     systems know a file by other names too.
 *  2. A file is read once, and compressed once.
 *  3. The pages run no script but those of this server, and send requests to nowhere else. The console uses no style but this
 *     server's; that of the API reference, styles in its elements too.
 */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import * as executable from 'node:sea'
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
const docsFile = 'docs.html'
const policyOf = (styles: string) =>
  `default-src 'none'; script-src 'self'; style-src ${styles}; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
const policy = policyOf("'self'")
/** Swagger UI writes styles into its elements. */
const docsPolicy = policyOf("'self' 'unsafe-inline'")
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

/** The files of the console, as the build has made them. */
export type BuiltFiles = {
  readonly names: ReadonlySet<string>
  read(name: string): Promise<Buffer>
}

/** Sends a page of the console; 404 where the console was not built. */
export type PageSender = {
  (name: string, request: FastifyRequest, reply: FastifyReply): Promise<Buffer>
  readonly isBuilt: boolean
}

/** Serves the files of the console to `app`. Returns the routes of its pages, and what sends the console's. */
export function serveConsole(
  app: FastifyInstance,
  built = builtFiles(),
): { readonly routes: ApiRoute[]; readonly sendPage: PageSender } {
  const files = new Map<string, Promise<BuiltFile>>()
  const open = async (name: string): Promise<BuiltFile> => {
    const plain = await built.read(name)
    return { plain, compressed: await promisify(gzip)(plain, { level: 9 }) }
  }
  const send = async (name: string, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    if (!built.names.has(name))
      throw new HttpRefusal(
        404,
        name === pageFile || name === docsFile
          ? 'the console is not built here; npm run build makes it, and every package of Fahao has it'
          : 'the console has no such file; load its page again',
      )
    const reading = files.get(name) ?? open(name)
    files.set(name, reading)
    reading.catch(() => files.delete(name))
    const file = await reading
    const isCompressed = /\bgzip\b/i.test(String(request.headers['accept-encoding']))
    reply.headers({
      ...pageHeaders(request),
      'content-security-policy': name === docsFile ? docsPolicy : policy,
      'content-type': types[extname(name)] ?? 'application/octet-stream',
      vary: 'accept, accept-encoding, origin',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
      ...(hashed.test(name) && { 'cache-control': 'public, max-age=31536000, immutable' }),
    })
    return isCompressed ? file.compressed : file.plain
  }
  app.get<{ Params: { file: string } }>('/console/:file', { config: { access: 'open' } }, (request, reply) =>
    send(request.params.file, request, reply),
  )
  const page = (id: string, file: string, summary: string): ApiRoute => ({
    id,
    method: 'GET',
    path: `/${id}`,
    tag: 'server',
    command: 'open',
    summary,
    answers: { 200: pageAnswer, 404: { description: 'It is not part of this installation.' } },
    errors: [],
    example: {},
    handler: (request, reply) => send(file, request, reply),
  })
  return {
    routes: [
      page('docs', docsFile, 'This interface as a page, which sends requests too.'),
      page('console', pageFile, 'The console: what this node and its cluster do, as pages.'),
    ],
    sendPage: Object.assign(send, { isBuilt: built.names.has(pageFile) }),
  }
}

/** Those of this installation. No names: the console was not built. */
export function builtFiles(): BuiltFiles {
  if (isInExecutable()) {
    // Older versions of Node.js, which are in no executable, cannot list them.
    const prefix = 'console/'
    const names = executable.getAssetKeys().filter((key) => key.startsWith(prefix))
    return {
      names: new Set(names.map((key) => key.slice(prefix.length))),
      read: async (name) => Buffer.from(executable.getAsset(`${prefix}${name}`)),
    }
  }
  return { names: new Set(namesIn(folder)), read: (name) => readFile(new URL(name, folder)) }
}

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
