/** fahao-client in web pages of another origin than the service's, in Debian's Chromium. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from '../../client/src/index.ts'
import { type Browser, startChromium } from '../launch/chromium.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import type { Observed } from './exercise.ts'
import { assertExercised, createGenerators } from './expectations.ts'
import { startPages } from './pages.ts'
import { bundle, makeProject } from './project.ts'

const scope = new Scope()
const password = 'administrator'
let project: string
let browser: Browser
let origin: string
let server: FahaoServer
let admin: RawClient

before(
  async () => {
    project = await makeProject(scope)
    origin = await startPages(scope, project)
    browser = await startChromium(scope)
    server = await startFahao(scope, { args: ['--http-origins', origin] })
    admin = await server.connect()
  },
  { timeout: 300_000 },
)
after(() => scope.end())

/** The page at `/`, once its modules have run. */
async function openPage() {
  const tab = await browser.open(`${origin}/`)
  assert.equal(await tab.evaluate('typeof connect'), 'function')
  return tab
}

describe('a web page', { timeout: 300_000 }, () => {
  test('takes ids of each kind, exact beyond 2^53, and returns what is left', async () => {
    await createGenerators(admin, 'page')
    const tab = await openPage()
    const observed = await tab.evaluate<Observed>(`exercise(connect, '${server.http}', 'page')`)
    await assertExercised(observed, 'page', server, admin)
  })

  test('does so in a worker', async () => {
    await createGenerators(admin, 'worker')
    const tab = await openPage()
    const observed = await tab.evaluate<Observed>(`new Promise((resolve, reject) => {
      const worker = new Worker('/worker.js', { type: 'module' })
      worker.addEventListener('message', ({ data }) => resolve(data))
      worker.addEventListener('error', ({ message }) => reject(new Error(message)))
      worker.postMessage(['${server.http}', 'worker'])
    })`)
    await assertExercised(observed, 'worker', server, admin)
  })

  test('does so with a bundle, which leaves redis out although the project has it', async () => {
    await createGenerators(admin, 'bundle')
    await bundle(project, 'page.js', 'bundle.js')
    const tab = await openPage()
    await tab.evaluate(`import('/bundle.js').then(() => {})`)
    const observed = await tab.evaluate<Observed>(`exercise(bundled, '${server.http}', 'bundle')`)
    await assertExercised(observed, 'bundle', server, admin)
    const overResp = `bundled('redis://127.0.0.1:${server.resp}').then((client) => client.generator('bundle:user'))`
    assert.match(await tab.evaluate<string>(`${overResp}.catch(String)`), /or use an http: URL/)
  })

  test('logs in with a password or a token in a header', async (t) => {
    const args = ['--http-origins', origin]
    const guarded = await startFahao(t, { args, env: { FAHAO_ADMIN_PASSWORD: password } })
    const ruler = await guarded.connect()
    assert.equal(await ruler.command('AUTH', 'admin', password), 'OK')
    await createGenerators(ruler, 'login')
    const tab = await openPage()
    const first = (options: object) =>
      tab.evaluate<string>(`connect('${guarded.http}', ${JSON.stringify(options)})
        .then(async (client) => {
          const id = await client.generator('login:user').then((user) => user.next(), ({ code }) => code)
          await client.close()
          return String(id)
        }, ({ code }) => code)`)
    assert.equal(await first({ username: 'admin', password }), '1')
    assert.equal(await first({ username: 'admin', password: 'other' }), 'WRONGPASS')
    assert.equal(await first({}), 'NOAUTH')
  })

  test('is told to look at http-origins where the service does not name its origin', async (t) => {
    const closed = await startFahao(t)
    const tab = await openPage()
    const message = await tab.evaluate<string>(`connect('${closed.http}', { connectTimeoutMs: 1000 })
      .catch(({ code, message }) => code + ' ' + message)`)
    assert.match(message, /^UNAVAILABLE .* cannot be reached/)
    assert.ok(message.includes(`does its http-origins name ${origin}?`), message)
  })

  test('that was frozen issues nothing of a lease that has ended meanwhile, and no id twice', async () => {
    // With one node bit, callers have one worker id: another client gets it once the lease of the page has ended.
    const layout = 'time:41,node:1,sequence:12;unit=ms;epoch=2024-01-01T00:00:00Z'
    await admin.command('ID.CREATE', 'frozen:event', 'KIND', 'snowflake', 'LAYOUT', layout)
    await admin.command('ID.CREATE', 'frozen:user', 'KIND', 'segment')
    const tab = await openPage()
    const ids = await tab.evaluate<string[]>(`(async () => {
      const client = await connect('${server.http}', { horizonMs: 500 })
      const [event, user] = [await client.generator('frozen:event'), await client.generator('frozen:user')]
      Object.assign(globalThis, { client, event, user })
      return [...await event.nextBatch(100), ...await user.nextBatch(100)].map(String)
    })()`)
    // Only what is in the background is frozen.
    await openPage()
    await tab.freeze()

    const other = await connect(`redis://127.0.0.1:${server.resp}`)
    const opened = await untilLeased(() => other.generator('frozen:event').catch(codeOf))
    ids.push(...(await opened.nextBatch(100)).map(String))
    ids.push(...(await (await other.generator('frozen:user')).nextBatch(100)).map(String))
    await tab.resume()
    const [ofEvent, ofUser] = await tab.evaluate<string[]>(
      '[event, user].map((generator) => String(generator.tryNext()))',
    )
    assert.equal(ofEvent, 'undefined')
    // A range belongs to the page until its deadline.
    if (ofUser !== 'undefined') ids.push(ofUser!)
    await other.close()
    const codes = '(ids) => ids.map(String), ({ code }) => code'
    ids.push(...(await untilLeased(() => tab.evaluate<string[]>(`event.nextBatch(100).then(${codes})`))))
    ids.push(...(await tab.evaluate<string[]>(`user.nextBatch(100).then(${codes})`)))
    await tab.evaluate('client.close()')
    assert.ok(ids.length >= 600)
    assert.equal(new Set(ids).size, ids.length)
  })
})

function codeOf({ code }: { readonly code: string }): string {
  return code
}

/** Tries again while no worker id is free. */
async function untilLeased<Value>(attempt: () => Promise<Value | string>): Promise<Value> {
  for (;;) {
    const outcome = await attempt()
    if (typeof outcome !== 'string') return outcome
    assert.equal(outcome, 'EXHAUSTED')
    await pause(50)
  }
}
