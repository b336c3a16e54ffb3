/** The console in Chromium, its CPU slowed down: requests, bytes, and the time until its pages are painted and can be used. */
import type { Browser, CDPSession } from 'playwright-core'
import { startBrowser } from '../test/console/reader.ts'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import type { Section } from './report.ts'
import { type Effort, interleaved, spreadOf } from './rounds.ts'

/** More generators than the overview tells of, each asked for ids once a second. */
const names = Array.from({ length: 500 }, (_, index) => `shop.orders:${index}`)
const slowdowns = [1, 4, 6]
const pages = { overview: '', generator: `generators/${encodeURIComponent(names[0]!)}` } as const
/** In the page before its own scripts: when it was first complete, and how long its scripts blocked it. */
const watch = `
  window.seen = { blockedMs: 0 }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.seen.blockedMs += Math.max(0, duration - 50)
  }).observe({ type: 'longtask', buffered: true })
  new MutationObserver(() => {
    const now = performance.now()
    if (document.querySelector('nav [aria-current]')) window.seen.usableMs ??= now
    if (document.querySelector('.chart canvas')) window.seen.drawnMs ??= now
  }).observe(document, { childList: true, subtree: true })`

type Look = {
  readonly paintMs: number
  readonly usableMs: number
  readonly drawnMs: number
  readonly blockedMs: number
  readonly requests: number
  readonly bytes: number
}

/** Loads without a cache, of a node in use. */
export async function consolePages(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const server = await startFahao(lifetime, { args: ['--auto-create', '*=segment', '--log-level', 'warn'] })
  const client = await RawClient.connect(server.resp, lifetime)
  const load = setInterval(() => {
    for (const name of names) void client.command('INCR', name)
  }, 1000)
  const browser = await startBrowser(lifetime)
  // The first steps of the charts.
  await new Promise((resolve) => setTimeout(resolve, 25_000))
  const figures = []
  for (const [page, hash] of Object.entries(pages)) {
    const url = `${server.http}/console#/${hash}`
    const looks = await interleaved(slowdowns, effort.rounds, (slowdown) => lookAt(browser, url, slowdown))
    for (const slowdown of slowdowns) {
      const of = (member: keyof Look) => spreadOf(looks.get(slowdown)!.map((look) => look[member]))
      const what = (each: string) => `${page}, CPU ÷ ${slowdown}: ${each}`
      figures.push(
        { what: what('first paint'), unit: 'ms', ...of('paintMs') },
        { what: what('can be used'), unit: 'ms', ...of('usableMs') },
        { what: what('chart drawn'), unit: 'ms', ...of('drawnMs') },
        { what: what('blocked by scripts beyond 50 ms each'), unit: 'ms', ...of('blockedMs') },
      )
    }
    const first = looks.get(1)!
    figures.push(
      { what: `${page}: requests`, unit: '', ...spreadOf(first.map(({ requests }) => requests)) },
      { what: `${page}: bytes`, unit: 'KB', ...spreadOf(first.map(({ bytes }) => bytes / 1000)) },
    )
  }
  clearInterval(load)
  await server.kill()
  const how = `Chromium without a window and without a cache, on the machine of the node; ${names.length} generators, ${names.length} ids a second; ${effort.rounds} rounds, interleaved. CPU slowed down by \`Emulation.setCPUThrottlingRate\`. Requests and bytes until the chart is drawn, as they were sent (gzip).`
  return [{ name: 'Console', how, figures }]
}

async function lookAt(browser: Browser, url: string, rate: number): Promise<Look> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const session: CDPSession = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate })
  await session.send('Network.enable')
  let requests = 0
  let bytes = 0
  session.on('Network.requestWillBeSent', () => requests++)
  session.on('Network.responseReceived', ({ response }) => {
    bytes += response.encodedDataLength
  })
  session.on('Network.dataReceived', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  await page.addInitScript(watch)
  await page.goto(url)
  await page.locator('.chart canvas').first().waitFor()
  const seen = { requests, bytes }
  const [times, paintMs] = await page.evaluate<[Omit<Look, 'paintMs' | 'requests' | 'bytes'>, number]>(
    `[window.seen, performance.getEntriesByName('first-contentful-paint')[0].startTime]`,
  )
  await context.close()
  return { ...times, paintMs, ...seen }
}
