/** A reader of the console, in Debian's Chromium by Playwright. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { requireProgram } from '../launch/process.ts'

const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8')

/** The pages, by their hashes. */
export const pages = [
  '',
  'generators',
  'generators/order',
  'generators/event',
  'cluster',
  'leases',
  'namespaces',
  'users',
  'audit',
  'advice',
  'decode?id=2126598160104030208',
  'start',
] as const

/** Starts a browser without a window. */
export async function startBrowser(lifetime: Lifetime): Promise<Browser> {
  const executablePath = requireProgram('chromium')
  // Its sandbox does not start for root. The only pages are those of the test.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  atEnd(lifetime, () => browser.close())
  return browser
}

/** The text of an element, and of those in it. */
export async function textOf(locator: Locator): Promise<string> {
  return (await locator.textContent()) ?? ''
}

/** A reader with a tab of its own, and what its browser has told of. */
export class Reader {
  readonly page: Page
  /** Faults of scripts, and what the content policy has refused. */
  readonly faults: string[] = []
  /** Hosts that were asked. */
  readonly hosts = new Set<string>()
  readonly #origin: string

  constructor(page: Page, origin: string) {
    this.page = page
    this.#origin = origin
    page.on('pageerror', (error) => this.faults.push(error.message))
    page.on('console', (message) => {
      // What the API refuses is told in the same way, and is no fault.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.faults.push(message.text())
    })
    page.on('request', (request) => this.hosts.add(new URL(request.url()).host))
  }

  /** Opens a tab for a reader who has not logged in. */
  static async come(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Reader> {
    const context = await browser.newContext({ locale: 'en-GB', ...options })
    return new Reader(await context.newPage(), origin)
  }

  /** Goes to a page by its hash. */
  async go(hash: string): Promise<void> {
    await this.page.goto(`${this.#origin}/console#/${hash}`)
    await this.page.locator('h1').first().waitFor()
  }

  /** Waits until all that the page has asked for is shown. */
  async loaded(): Promise<void> {
    const loading = this.page.locator('.loading')
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'hidden' })
  }

  /** Logs in by the form. */
  async logIn(user: string, password: string): Promise<void> {
    await this.page.locator('input[autocomplete=username]').fill(user)
    await this.page.locator('input[autocomplete=current-password]').fill(password)
    await this.page.locator('button[type=submit]').click()
  }

  /** Opens the dialog of an action. */
  async act(label: string): Promise<void> {
    await this.page.getByRole('button', { name: label, exact: true }).first().click()
    await this.page.locator('dialog[open]').waitFor()
  }

  /** The lines of a shell that the open dialog shows. */
  async shown(): Promise<{ readonly command: string; readonly curl: string }> {
    const line = (label: string) =>
      textOf(this.page.locator('dialog[open] .copy-line', { hasText: label }).locator('pre'))
    return { command: await line('as a command'), curl: await line('with curl') }
  }

  /** Goes on with the Tab key until what has this name has the focus, which has to be visible. */
  async tabTo(name: string): Promise<void> {
    const describe = `(() => {
      const element = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const label = element.labels?.[0]?.querySelector('span')?.textContent
      return { name: label ?? element.getAttribute('aria-label') ?? element.textContent,
        isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' || element === document.body }
    })()`
    for (let turn = 0; turn < 200; turn++) {
      await this.page.keyboard.press('Tab')
      const focus = await this.page.evaluate<{ name: string; isSeen: boolean }>(describe)
      assert.ok(focus.isSeen, `the focus on ${focus.name} is not visible`)
      if (focus.name === name) return
    }
    throw new Error(`the Tab key does not reach ${name}`)
  }

  /** Sends the form of the open dialog, and closes it when it is done. Resolves to what the dialog says. */
  async finish(label: string): Promise<string> {
    const dialog = this.page.locator('dialog[open]')
    await dialog.getByRole('button', { name: label, exact: true }).click()
    await dialog.getByRole('status').waitFor()
    const text = await textOf(dialog)
    await dialog.getByRole('button', { name: 'Close' }).click()
    return text
  }

  /** No rule of WCAG A and AA, and no best practice of axe, is broken on the page of now. `excluded`: elements that are not ours. */
  async assertAccessible(what: string, excluded?: string): Promise<void> {
    const session = await this.page.context().newCDPSession(this.page)
    // As a debugger, whose code the content policy does not concern.
    await session.send('Runtime.evaluate', { expression: axe })
    const where = excluded === undefined ? 'document' : `{ exclude: ['${excluded}'] }`
    const expression = `axe.run(${where}, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html.slice(0, 200)).join(' ')))`
    const { result } = await session.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    await session.detach()
    assert.deepEqual(result.value, [], what)
  }

  /** Nothing stands out at the side of the page of now. */
  async assertFits(what: string): Promise<void> {
    const over = await this.page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.ok(over <= 0, `${what} is ${over} px too wide`)
  }
}
