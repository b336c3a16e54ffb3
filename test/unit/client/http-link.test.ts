/** Requests of the client over HTTP that get no answer. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HttpLink } from '../../../client/src/http-link.ts'
import { Unsent } from '../../../client/src/link.ts'
import { parseUrls, settingsOf } from '../../../client/src/options.ts'
import { leaseRequest } from '../../../client/src/requests.ts'
import { systemClock } from '../../../src/base/clock.ts'

const node = 'http://127.0.0.1:7380'
const request = leaseRequest('user', { count: 1, ttlMs: 1000, holder: undefined })

/** A link whose every request fails as fetch does. */
function failing(error = new TypeError('Failed to fetch')): HttpLink {
  const urls = parseUrls(node)
  const fail = () => Promise.reject(error)
  return new HttpLink(urls[0]!, settingsOf(urls, { fetch: fail }), systemClock)
}

/** Runs `work` as a page of this origin would. */
async function onPage(origin: string, work: () => Promise<void>): Promise<void> {
  Object.defineProperty(globalThis, 'location', { value: { origin }, configurable: true })
  try {
    await work()
  } finally {
    Reflect.deleteProperty(globalThis, 'location')
  }
}

describe('a node that fetch cannot reach', () => {
  test('has not received the request where no connection came about', async () => {
    const isUnsent = async (code: string) => {
      const cause = Object.assign(new Error(code), { code })
      const link = failing(new TypeError('fetch failed', { cause }))
      return (await link.send(request, 1000).catch((error: unknown) => error)) instanceof Unsent
    }
    assert.equal(await isUnsent('ECONNREFUSED'), true)
    assert.equal(await isUnsent('ECONNRESET'), false)
  })

  test('is perhaps not running', async () => {
    const message = `${node} cannot be reached (Failed to fetch); is it running, is this its HTTP port?`
    await assert.rejects(failing().send(request, 1000), { code: 'UNAVAILABLE', message })
    await onPage(node, () => assert.rejects(failing().send(request, 1000), { message }))
  })

  test('may refuse the origin of a page, which the browser does not say', async () => {
    const message = `${node} cannot be reached (Failed to fetch); is it running, is this its HTTP port, and does its http-origins name https://a.example?`
    await onPage('https://a.example', () => assert.rejects(failing().send(request, 1000), { message }))
  })
})
