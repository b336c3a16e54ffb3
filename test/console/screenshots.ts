/**
 * npm run screenshots -- [--out FOLDER] [--seconds N] [--only LOOK] [PAGE …]: pictures of every page of the console, in both languages,
 * narrow and wide, light and dark, of a busy cluster of three, and then of one that has lost a node. The callers draw for `--seconds`
 * before the first picture; a LOOK is a part of a name such as en-1440-dark.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { inScope } from '../launch/lifetime.ts'
import { password, startBusyCluster } from './busy-cluster.ts'
import { pages, Reader, startBrowser } from './reader.ts'

type Look = { readonly locale: string; readonly colorScheme: 'light' | 'dark'; readonly width: number }

const looks: readonly Look[] = ['en-GB', 'zh-CN'].flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    [390, 1440].map((width) => ({ locale, colorScheme, width })),
  ),
)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: 'screenshots' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string' },
  },
})

await inScope(async (scope) => {
  mkdirSync(values.out, { recursive: true })
  const browser = await startBrowser(scope)
  const { nodes, loseNode } = await startBusyCluster(scope)
  console.log(nodes.map(({ http }) => http).join(' '))
  // The charts have steps of ten seconds.
  await new Promise((resolve) => setTimeout(resolve, Number(values.seconds) * 1000))
  await shoot(browser, nodes[0]!.http, 'whole')
  await loseNode(nodes[2]!)
  await shoot(browser, nodes[0]!.http, 'one-away')
})

async function shoot(browser: Browser, origin: string, state: string): Promise<void> {
  const wanted = pages.filter((page) => positionals.length === 0 || positionals.includes(fileOf(page)))
  for (const look of looks) {
    const { locale, colorScheme, width } = look
    const name = `${locale.slice(0, 2)}-${width}-${colorScheme}`
    if (values.only !== undefined && !name.includes(values.only)) continue
    const viewport = { width, height: width < 500 ? 844 : 900 }
    const reader = await Reader.come(browser, origin, { locale, colorScheme, viewport })
    await reader.go('')
    if (state === 'whole') await reader.page.screenshot({ path: join(values.out, `login-${name}.png`) })
    await reader.logIn('admin', password)
    await reader.page.locator('nav').first().waitFor()
    for (const page of wanted) {
      await reader.go(page)
      await reader.loaded()
      // What the stream tells first is drawn with its first ticks.
      await new Promise((resolve) => setTimeout(resolve, 2500))
      const path = join(values.out, `${state}-${fileOf(page)}-${name}.png`)
      await reader.page.screenshot({ path, fullPage: true })
    }
    for (const fault of reader.faults) console.error(`${name}: ${fault}`)
    await reader.page.context().close()
  }
}

function fileOf(page: string): string {
  return page === '' ? 'overview' : page.replace(/\?.*/, '').replaceAll('/', '-')
}
