/** What the forms show beside what they send: lines of a shell that do the same, and what the keyboard reaches. */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { Reader, startBrowser, textOf } from './reader.ts'

const scope = new Scope()
const password = 'administrator'
const entry = join(import.meta.dirname, '../../dist/fahao.js')
let browser: Browser
let server: FahaoServer
let token: string
let bin: string

before(
  async () => {
    browser = await startBrowser(scope)
    server = await startFahao(scope, { env: { FAHAO_ADMIN_PASSWORD: password } })
    const response = await fetch(`${server.http}/v1/tokens`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`admin:${password}`)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ label: 'console' }),
    })
    token = ((await response.json()) as { token: string }).token
    bin = temporaryFolder(scope)
    writeFileSync(join(bin, 'fahao'), `#!/bin/sh\nexec '${process.execPath}' '${entry}' "$@"\n`)
    chmodSync(join(bin, 'fahao'), 0o755)
  },
  { timeout: 120_000 },
)
after(() => scope.end())

/** Pastes a line into a shell on a terminal, and answers what it asks; resolves to what it prints. */
async function paste(line: string, env: Readonly<Record<string, string>>, answer = ''): Promise<string> {
  return await runProgram(['script', '-qfec', line, '/dev/null'], {
    env: { ...env, SHELL: '/bin/sh', PATH: `${bin}:${process.env.PATH}` },
    input: answer,
  })
}

async function exists(name: string): Promise<boolean> {
  const response = await fetch(`${server.http}/v1/generators/${encodeURIComponent(name)}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  await response.arrayBuffer()
  return response.ok
}

async function withToken(): Promise<Reader> {
  const reader = await Reader.come(browser, server.http)
  await reader.go('')
  await reader.page.getByLabel('Or a token').fill(token)
  await reader.page.getByRole('button', { name: 'Log in' }).click()
  await reader.page.getByRole('heading', { name: 'Overview' }).waitFor()
  return reader
}

describe('the forms of the console', { timeout: 300_000 }, () => {
  for (const name of ['plain', '-dash', `it's"one"$HOME`, '订单/甲'])
    test(`show a command and a curl that work where they are pasted, for ${name}`, async () => {
      const reader = await withToken()
      const { page } = reader
      const env = { FAHAO_TOKEN: token }
      await reader.go('generators')
      await reader.act('Create')
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.locator('dialog[open]').getByText('Options', { exact: true }).click()
      await page.getByLabel('format').fill(`it's_{id}`)
      const create = await reader.shown()
      await page.keyboard.press('Escape')
      await paste(create.command, env)
      assert.ok(await exists(name))

      await reader.go(`generators/${encodeURIComponent(name)}`)
      await page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
      await reader.act('Draw a sample')
      const next = await reader.shown()
      await page.keyboard.press('Escape')
      assert.match(await paste(next.command, env), /it's_1\b/)
      assert.match(await paste(next.curl, env), /it's_2"/)

      await reader.act('Alter')
      await page.locator('dialog[open]').getByText('Options', { exact: true }).click()
      await page.locator('dialog[open]').getByLabel(/^step/).fill('500')
      const alter = await reader.shown()
      await page.keyboard.press('Escape')
      await paste(alter.command, env)
      assert.match(await paste(alter.curl, env), /"step":500/)

      await reader.act('Move forward')
      await page.locator('dialog[open]').getByLabel('The next id is at least').fill('7000')
      const floor = await reader.shown()
      await page.keyboard.press('Escape')
      await paste(floor.command, env)
      await paste(floor.curl, env)
      assert.match(await paste(next.command, env), /it's_7000\b/)

      await reader.act('Drop')
      const drop = await reader.shown()
      await page.keyboard.press('Escape')
      await paste(drop.command, env, 'y\n')
      assert.ok(!(await exists(name)))
      await paste(create.curl, env)
      assert.ok(await exists(name))
      await paste(drop.curl, env)
      assert.ok(!(await exists(name)))
      assert.deepEqual(reader.faults, [])
    })

  test('show a command that names the user, and shows no password', async () => {
    const reader = await Reader.come(browser, server.http)
    await reader.go('generators')
    await reader.logIn('admin', password)
    await reader.act('Create')
    await reader.page.getByLabel('Name', { exact: true }).fill('by-user')
    const create = await reader.shown()
    assert.ok(!`${create.command}${create.curl}`.includes(password))
    await paste(create.command, { FAHAO_PASSWORD: password })
    assert.ok(await exists('by-user'))
  })

  test('are reached and sent by the keyboard alone, and show where the focus is', async () => {
    const reader = await withToken()
    const { page } = reader
    await reader.go('generators')
    await reader.tabTo('Create')
    await page.keyboard.press('Enter')
    const dialog = page.locator('dialog[open]')
    await dialog.waitFor()
    await reader.tabTo('Name')
    await page.keyboard.type('typed')
    await reader.tabTo('Kind')
    await page.keyboard.press('s')
    await reader.tabTo('Create')
    await page.keyboard.press('Enter')
    await dialog.getByRole('status').waitFor()
    await reader.tabTo('Close')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'typed', level: 1 }).waitFor()
    for (const action of ['Draw a sample', 'Alter', 'Drop']) {
      await reader.tabTo(action)
      await page.keyboard.press('Enter')
      await dialog.waitFor()
      await reader.assertAccessible(action)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'hidden' })
    }
    await reader.tabTo('Drop')
    await page.keyboard.press('Enter')
    await reader.tabTo('To confirm, type typed')
    await page.keyboard.type('typed')
    await page.keyboard.press('Enter')
    await dialog.getByRole('status').waitFor()
    assert.equal(await textOf(dialog.getByRole('status')), 'Done.')
    assert.ok(!(await exists('typed')))
  })

  test('raise every bound only after what they do was said and the word was typed', async () => {
    const reader = await withToken()
    const { page } = reader
    await reader.go('cluster')
    await reader.act('Advance the store')
    const dialog = page.locator('dialog[open]')
    await dialog.getByLabel('By how many ids').fill('1000000')
    await dialog.getByText('Raises every bound of the store by 1000000.').waitFor()
    await reader.assertAccessible('advance')
    const advance = await reader.shown()
    assert.ok(
      await dialog.getByRole('button', { name: 'Advance the store' }).isDisabled(),
      'without the word',
    )
    await dialog.getByLabel('To confirm, type advance').fill('advance')
    assert.match(await reader.finish('Advance the store'), /"counters"/)
    for (const line of [advance.command, advance.curl]) await paste(line, { FAHAO_TOKEN: token })
  })

  test('move nothing for readers who want less motion', async () => {
    const reader = await Reader.come(browser, server.http, { reducedMotion: 'reduce' })
    await reader.go('')
    await reader.page.getByRole('heading', { name: 'Log in' }).waitFor()
    const moving = await reader.page.evaluate<string[]>(
      `[...document.querySelectorAll('*')].filter((each) => {
        const { transitionDuration, animationName } = getComputedStyle(each)
        return animationName !== 'none' || transitionDuration.split(', ').some((time) => time !== '0s')
      }).map(({ outerHTML }) => outerHTML.slice(0, 100))`,
    )
    assert.deepEqual(moving, [])
  })
})
