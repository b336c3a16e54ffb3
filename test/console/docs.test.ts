/** The first id and the API reference, as a reader uses them on a node without users, and on one with a login. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { Reader, startBrowser, textOf } from './reader.ts'

const scope = new Scope()
const password = 'administrator'
let browser: Browser
let open: FahaoServer
let closed: FahaoServer

before(
  async () => {
    browser = await startBrowser(scope)
    open = await startFahao(scope)
    closed = await startFahao(scope, { env: { FAHAO_ADMIN_PASSWORD: password } })
  },
  { timeout: 120_000 },
)
after(() => scope.end())

const looks = [
  { locale: 'en-GB', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const
const drawing = '#operations-ids-next'

/** Opens the API reference, and waits for the viewer. */
async function readDocs(reader: Reader, server: FahaoServer, hash = ''): Promise<void> {
  await reader.page.goto(`${server.http}/docs${hash}`)
  await reader.page.locator('.opblock').first().waitFor()
}

/** Tries an operation; resolves to its answer. */
async function tryOut(reader: Reader, operation: string): Promise<string> {
  const block = reader.page.locator(operation)
  await block.locator('.opblock-summary-control').click()
  await block.getByRole('button', { name: 'Try it out' }).click()
  await block.getByRole('button', { name: 'Execute' }).click()
  await block.locator('.live-responses-table .microlight').first().waitFor()
  return textOf(block.locator('.live-responses-table').first())
}

describe('the first page', { timeout: 120_000 }, () => {
  test('creates a generator only by a button that says so, and shows the first id after one click', async () => {
    const reader = await Reader.come(browser, open.http)
    const { page } = reader
    const { generators } = (await (await fetch(`${open.http}/v1/generators`)).json()) as { generators: [] }
    assert.deepEqual(generators, [])
    await page.goto(open.http)
    await page.getByRole('button', { name: 'Create the generator order and draw its first id' }).click()
    await page.locator('output', { hasText: /^1$/ }).waitFor()
    const lines = await page.locator('pre').allTextContents()
    assert.deepEqual(lines, [
      `redis-cli -p ${open.resp} INCR order`,
      `curl -X POST ${open.http}/v1/generators/order/next`,
    ])
    await page.goto(open.http)
    await page.getByRole('button', { name: 'Draw an id of order' }).click()
    await page.locator('output', { hasText: /^2$/ }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).first().click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(reader.faults, [])
  })
})

describe('the API reference', { timeout: 180_000 }, () => {
  for (const look of looks)
    test(`sends a request and shows its answer: ${look.locale}, ${look.viewport.width} px`, async () => {
      const reader = await Reader.come(browser, open.http, look)
      await fetch(`${open.http}/v1/generators/order`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"kind":"sequence"}',
      })
      await readDocs(reader, open)
      assert.match(await tryOut(reader, drawing), /200[\s\S]*"ids": \[[\s\S]*"\d+",[\s\S]*"\d+",[\s\S]*"\d+"/)
      await reader.assertAccessible(look.locale, '#viewer')
      await reader.assertFits(look.locale)
      assert.deepEqual(reader.faults, [])
      assert.deepEqual([...reader.hosts], [new URL(open.http).host])
      await reader.page.locator('header nav a[href="/console"]').click()
      await reader.page.locator('header nav a[href="/docs"]').waitFor()
    })

  test('shows an error that a link names', async () => {
    const reader = await Reader.come(browser, open.http)
    await readDocs(reader, open, '#NOGENERATOR')
    const row = reader.page.locator('#NOGENERATOR')
    await reader.page.waitForFunction(
      `(() => { const { top } = document.getElementById('NOGENERATOR').getBoundingClientRect(); return top >= -1 && top < innerHeight })()`,
    )
    assert.match(await textOf(row), /^NOGENERATOR404no/)
    assert.deepEqual(reader.faults, [])
  })

  test('uses the login of the console’s tab, shows none, and changes nothing before it is confirmed', async () => {
    const reader = await Reader.come(browser, closed.http)
    const { page } = reader
    await reader.go('')
    await reader.logIn('admin', password)
    await page.locator('nav').first().waitFor()
    await readDocs(reader, closed)
    assert.match(await tryOut(reader, '#operations-users-whoami'), /"user": "admin"/)
    assert.doesNotMatch(await page.content(), new RegExp(btoa(`admin:${password}`)))
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.method()))
    for (const [operation, shown] of [
      ['generators-dropGenerator', /DELETE \/v1\/generators\/order/],
      ['generators-alterGenerator', /PATCH \/v1\/generators\/order/],
      ['users-setUser', /PUT \/v1\/users\//],
    ] as const) {
      const refused = page.waitForEvent('dialog').then(async (dialog) => {
        await dialog.dismiss()
        return dialog.message()
      })
      const block = page.locator(`#operations-${operation}`)
      await block.locator('.opblock-summary-control').click()
      await block.getByRole('button', { name: 'Try it out' }).click()
      await block.getByRole('button', { name: 'Execute' }).click()
      assert.match(await refused, shown)
    }
    assert.deepEqual(new Set(sent), new Set())
    assert.deepEqual(await page.context().cookies(), [])
    assert.deepEqual(reader.faults, [])
  })

  test('uses the login that the reader gives it, and forgets it with the page', async () => {
    const reader = await Reader.come(browser, closed.http)
    const { page } = reader
    await readDocs(reader, closed)
    await page.getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.dialog-ux')
    await dialog.locator('input').first().fill('admin')
    await dialog.locator('input[type=password]').fill(password)
    await dialog.locator('button.authorize').first().click()
    await dialog.locator('button.btn-done').first().click()
    assert.match(await tryOut(reader, '#operations-users-whoami'), /"user": "admin"/)
    assert.deepEqual(await page.evaluate('[localStorage.length, sessionStorage.length]'), [0, 0])
    await readDocs(reader, closed)
    assert.match(await tryOut(reader, '#operations-users-whoami'), /NOAUTH/)
    assert.deepEqual(reader.faults, [])
  })
})
