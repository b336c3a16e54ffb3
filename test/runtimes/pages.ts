/** A web server for the files of a project, and one page that finds fahao-client in them by an import map. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

const entry = '/node_modules/fahao-client/dist/index.js'
const page = `<!doctype html><title>ids</title>
<script type="importmap">{ "imports": { "fahao-client": "${entry}" } }</script>
<script type="module">
import { connect } from 'fahao-client'
import { exercise, takeMany } from './exercise.js'
Object.assign(globalThis, { connect, exercise, takeMany })
</script>`

/** Import maps are for pages alone. */
const worker = `import { connect } from '${entry}'
import { exercise } from './exercise.js'
addEventListener('message', async ({ data }) => {
  postMessage(await exercise(connect, ...data).catch((error) => String(error.stack)))
})`

/** Serves the page at `/`, the module of a worker at `/worker.js`, and the project's own modules. Returns its origin. */
export async function startPages(lifetime: Lifetime, folder: string): Promise<string> {
  const server = createServer(async ({ url = '/' }, response) => {
    const answer = (status: number, type: string, text: string) =>
      response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(text)
    if (url === '/') return answer(200, 'text/html', page)
    if (url === '/worker.js') return answer(200, 'text/javascript', worker)
    const module = await readFile(join(folder, normalize(url)), 'utf8').catch(() => undefined)
    if (module === undefined) return answer(404, 'text/plain', 'not found')
    return answer(200, 'text/javascript', module)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(lifetime, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
