/** Each page and each form of the console on one node, as a reader uses them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { pages, Reader, startBrowser, textOf } from './reader.ts'

const scope = new Scope()
const password = 'administrator'
let browser: Browser
let server: FahaoServer
let origin: string

before(
  async () => {
    browser = await startBrowser(scope)
    server = await startFahao(scope, { env: { FAHAO_ADMIN_PASSWORD: password } })
    origin = server.http
    await ask('PUT', '/v1/generators/order', { kind: 'sequence' })
    await ask('PUT', '/v1/generators/event', { kind: 'snowflake' })
    await ask('PUT', '/v1/generators/shop:cart', { kind: 'segment', format: 'cart_{id}' })
    await ask('PUT', '/v1/namespaces/shop', { match: 'shop:*', owner: 'team-a', idsPerDay: 1000 })
    await ask('PUT', '/v1/users/narrow', { rules: ['on', '>narrow', '~shop:*', '+@read'] })
    for (const name of ['order', 'event', 'shop:cart'])
      await ask('POST', `/v1/generators/${encodeURIComponent(name)}/next?count=10`)
  },
  { timeout: 120_000 },
)
after(() => scope.end())

/** Asks the node as its administrator. */
async function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.http}${path}`, {
    method,
    headers: {
      authorization: `Basic ${btoa(`admin:${password}`)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  assert.ok(response.ok, `${method} ${path}: ${response.status}`)
  return response.status === 204 ? {} : ((await response.json()) as Record<string, unknown>)
}

/** A reader that has logged in. */
async function administrator(options?: Parameters<typeof Reader.come>[2]): Promise<Reader> {
  const reader = await Reader.come(browser, origin, options)
  await reader.go('')
  await reader.logIn('admin', password)
  await reader.page.locator('nav').first().waitFor()
  return reader
}

describe('the console', { timeout: 300_000 }, () => {
  test('asks for a login, tells a wrong one, and keeps it in the tab and nowhere else', async () => {
    const reader = await Reader.come(browser, origin)
    const { page } = reader
    await reader.go('')
    await reader.assertAccessible('login')
    await reader.logIn('admin', 'wrong')
    assert.match(await textOf(page.getByRole('alert')), /WRONGPASS/)
    await reader.logIn('admin', password)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(await page.context().cookies(), [])
    const stored = await page.evaluate<string[]>(
      '[JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), location.href]',
    )
    const secret = btoa(`admin:${password}`)
    assert.deepEqual(
      stored.map((text) => text.includes(secret) || text.includes(password)),
      [false, true, false],
    )
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    assert.deepEqual(reader.faults, [])
  })

  const looks = [
    { locale: 'en-GB', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
    { locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 390, height: 844 } },
    { locale: 'en-GB', colorScheme: 'dark', viewport: { width: 2560, height: 1440 } },
  ] as const
  for (const look of looks) {
    const what = `${look.locale}, ${look.colorScheme}, ${look.viewport.width} px`
    test(`has pages that all can use: ${what}`, async () => {
      const reader = await administrator(look)
      for (const page of pages) {
        await reader.go(page)
        await reader.loaded()
        await reader.assertAccessible(`${page}: ${what}`)
        await reader.assertFits(`${page}: ${what}`)
      }
      assert.deepEqual(reader.faults, [])
      assert.deepEqual([...reader.hosts], [new URL(origin).host])
    })
  }

  test('shows the present period of a generator, and the period of an id', async () => {
    await ask('PUT', '/v1/generators/invoice', {
      kind: 'sequence',
      period: 'year',
      yearStart: '04-01',
      format: 'INV-{date:yyyy}/{end:yy}-{id:4}',
    })
    const { ids } = await ask('POST', '/v1/generators/invoice/next')
    const [id] = ids as string[]
    const label = /^INV-(\d{4})\/\d\d-0001$/.exec(String(id))![1]!
    const reader = await administrator()
    const { page } = reader
    await reader.go('generators/invoice')
    await reader.loaded()
    const facts = await textOf(page.locator('main'))
    assert.match(facts, new RegExp(`Period${label}, until ${Number(label) + 1}-`))
    assert.match(facts, /Numbers left in it9,99\d/)
    await reader.go(`decode?id=${encodeURIComponent(String(id))}&generator=invoice`)
    await reader.loaded()
    const read = await textOf(page.locator('main'))
    assert.match(read, new RegExp(`Period${label}, until .*Number in its period1`))
    await ask('DELETE', '/v1/generators/invoice')
    assert.deepEqual(reader.faults, [])
  })

  test('shows what the node issues while it does, and closes the stream of a hidden page', async () => {
    const reader = await administrator()
    const { page } = reader
    const isLive = (request: { url(): string }) => new URL(request.url()).pathname === '/v1/live'
    await reader.go('generators/order')
    await page.getByText('Ids per second in the last hour').waitFor()
    let drawing = true
    const draws = (async () => {
      while (drawing) await ask('POST', '/v1/generators/order/next?count=100')
    })()
    await page
      .locator('.figure', { hasText: 'Ids now' })
      .getByText(/^[\d.,]*[1-9][\d.,]*(?: k)?$/)
      .waitFor()
    drawing = false
    await draws
    await page.locator('.chart canvas').waitFor()
    await reader.go('')
    await page.getByRole('link', { name: 'shop:cart' }).first().waitFor()

    const closed = page.waitForEvent('requestfailed', isLive)
    await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
    await closed
    const opened = page.waitForRequest(isLive)
    await page.evaluate(`delete document.hidden
      document.dispatchEvent(new Event('visibilitychange'))`)
    await opened
    assert.deepEqual(reader.faults, [])
  })

  test('says which requests failed, by code', async () => {
    const reader = await administrator()
    await reader.go('')
    // What fails before the first second is over is told by the next stream.
    await reader.page.locator('.figure', { hasText: 'Ids now' }).getByText(/^\d/).waitFor()
    const refused = await fetch(`${origin}/v1/generators/absent/next`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`admin:${password}`)}` },
    })
    assert.equal(refused.status, 404)
    await reader.page.getByRole('link', { name: 'NOGENERATOR' }).waitFor()
  })

  test('finds one of 20,000 generators, and leafs through them', async () => {
    const many = await startFahao(scope, { args: ['--auto-create', 'many:*=segment'] })
    const client = await many.connect()
    const names = Array.from({ length: 20_000 }, (_, index) => `many:${String(index).padStart(5, '0')}`)
    for (const name of names) client.sendCommand('INCR', name)
    await client.readMany(names.length)
    const reader = await Reader.come(browser, many.http)
    await reader.go('generators')
    await reader.page.getByRole('link', { name: 'many:00049' }).waitFor()
    await reader.page.getByRole('link', { name: 'Next page' }).click()
    await reader.page.getByRole('link', { name: 'many:00050' }).waitFor()
    await reader.page.getByLabel('Search').fill('19999')
    await reader.page.getByRole('link', { name: 'many:19999' }).click()
    await reader.page.getByRole('heading', { name: 'many:19999', level: 1 }).waitFor()
    await reader.go('')
    await reader.page.getByText('Show all 200').click()
    await reader.loaded()
    await reader.assertFits('the overview of 20,000 generators')
    assert.deepEqual(reader.faults, [])
  })

  test('creates, draws from, alters, moves forward and drops a generator', async () => {
    const reader = await administrator()
    const { page } = reader
    await reader.go('generators')
    await reader.act('Create')
    await page.getByLabel('Name', { exact: true }).fill('made')
    await page.locator('dialog[open]').getByText('Options', { exact: true }).click()
    await page.getByLabel('format').fill('made_{id}')
    const dialog = page.locator('dialog[open]')
    assert.match(
      await textOf(dialog),
      /fahao create --kind sequence --format 'made_\{id\}' .*--user admin made/,
    )
    assert.match(await textOf(dialog), /curl -X PUT -u admin .*\/v1\/generators\/made/)
    await reader.assertAccessible('create')
    await reader.finish('Create')
    await page.getByRole('heading', { name: 'made', level: 1 }).waitFor()

    await reader.act('Draw a sample')
    assert.match(await reader.finish('Draw a sample'), /made_1/)

    await reader.act('Alter')
    await page.locator('dialog[open]').getByText('Options', { exact: true }).click()
    await page.locator('dialog[open]').getByLabel('horizon').fill('3m')
    await reader.finish('Alter')
    const altered = await ask('GET', '/v1/generators/made')
    assert.equal((altered.definition as Record<string, unknown>).horizon, '3m')

    await reader.act('Move forward')
    await page.locator('dialog[open]').getByLabel('The next id is at least').fill('5000')
    const move = page.locator('dialog[open]').getByRole('button', { name: 'Move forward' })
    assert.ok(await move.isDisabled(), 'without the name')
    await page.locator('dialog[open]').getByLabel('To confirm, type made').fill('made')
    await reader.finish('Move forward')
    assert.deepEqual((await ask('POST', '/v1/generators/made/next')).ids, ['made_5000'])

    await reader.act('Drop')
    const drop = page.locator('dialog[open]').getByRole('button', { name: 'Drop' })
    assert.ok(await drop.isDisabled(), 'without the name')
    await page.locator('dialog[open]').getByLabel('To confirm, type made').fill('made')
    await reader.finish('Drop')
    await page.getByRole('heading', { name: 'Generators' }).waitFor()
    const { generators } = await ask('GET', '/v1/generators?match=made')
    assert.deepEqual(generators, [])
    assert.deepEqual(reader.faults, [])
  })

  test('tells why a change is refused, in the words of the node', async () => {
    const reader = await administrator()
    await reader.go('generators/order')
    await reader.act('Alter')
    const dialog = reader.page.locator('dialog[open]')
    await dialog.getByText('Options', { exact: true }).click()
    await dialog.getByLabel('horizon').fill('never')
    await dialog.getByRole('button', { name: 'Alter', exact: true }).click()
    assert.match(await textOf(dialog.getByRole('alert')), /horizon/)
  })

  test('decodes a text by the generator that writes such texts, and encodes a moment', async () => {
    const reader = await administrator()
    const { page } = reader
    await reader.go('decode')
    await page.getByLabel('Id or text').fill('cart_7')
    await page.getByRole('button', { name: 'Decode' }).click()
    await page.getByRole('heading', { name: 'shop:cart' }).waitFor()
    await page.getByLabel('Moment').fill('2026-01-01T00:00')
    await page.getByText('WHERE id >= ').waitFor()
  })

  test('shows a narrow user its own generators, and says what it may not see', async () => {
    const reader = await Reader.come(browser, origin)
    await reader.go('')
    await reader.logIn('narrow', 'narrow')
    await reader.page.locator('nav').first().waitFor()
    await reader.go('users')
    await reader.page.getByText('NOPERM').first().waitFor()
    await reader.go('generators')
    await reader.page.getByRole('link', { name: 'shop:cart' }).waitFor()
    assert.equal(await reader.page.getByRole('link', { name: 'order', exact: true }).count(), 0)
  })

  test('asks for a login again when a token has been revoked', async () => {
    const { token, id } = await ask('POST', '/v1/tokens', { label: 'console' })
    const reader = await Reader.come(browser, origin)
    await reader.go('')
    await reader.page.getByLabel('Or a token').fill(String(token))
    await reader.page.getByRole('button', { name: 'Log in' }).click()
    await reader.page.getByRole('heading', { name: 'Overview' }).waitFor()
    await reader.go('generators/order')
    await ask('DELETE', `/v1/tokens/${id}`)
    await reader.page.getByRole('heading', { name: 'Log in' }).waitFor()
  })
})
