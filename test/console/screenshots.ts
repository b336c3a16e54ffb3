/**
 * npm run screenshots -- [--out FOLDER] [--seconds N] [--only LOOK] [PAGE …]: pictures of every page of the console, in both languages,
 * narrow and wide, light and dark, of a busy cluster of three, and then of one that has lost a node. The callers draw for `--seconds`
 * before the first picture; a LOOK is a part of a name such as en-1440-dark. `--docs` takes those of docs/images alone.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { inScope } from '../launch/lifetime.ts'
import { password, startBusyCluster } from './busy-cluster.ts'
import { pages, Reader, startBrowser } from './reader.ts'

type Look = { readonly locale: string; readonly colorScheme: 'light' | 'dark'; readonly width: number }
type State = 'whole' | 'one-away'

const looks: readonly Look[] = ['en-GB', 'zh-CN'].flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    [390, 1440].map((width) => ({ locale, colorScheme, width })),
  ),
)
const wide = { locale: 'en-GB', colorScheme: 'light', width: 1440 } as const
const narrow = { locale: 'zh-CN', colorScheme: 'dark', width: 390 } as const
/** What docs/images has: the part that is seen without scrolling. `act`: the action whose dialog is open. */
const inDocs: readonly { file: string; state: State; page: string; look: Look; act?: string }[] = [
  { file: 'console-overview', state: 'whole', page: '', look: wide },
  { file: 'console-generator', state: 'whole', page: 'generators/order', look: wide },
  { file: 'console-move-forward', state: 'whole', page: 'generators/order', look: wide, act: 'Move forward' },
  { file: 'console-worker-ids', state: 'whole', page: 'leases', look: wide },
  { file: 'console-namespaces', state: 'whole', page: 'namespaces', look: { ...wide, locale: 'zh-CN' } },
  { file: 'console-decode', state: 'whole', page: pages.at(-1)!, look: { ...wide, colorScheme: 'dark' } },
  { file: 'console-narrow', state: 'whole', page: '', look: narrow },
  { file: 'console-narrow-generator', state: 'whole', page: 'generators/event', look: narrow },
  { file: 'console-node-away', state: 'one-away', page: 'cluster', look: wide },
]
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: 'screenshots' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string' },
    docs: { type: 'boolean', default: false },
  },
})
const out = values.docs ? join(import.meta.dirname, '../../docs/images') : values.out

await inScope(async (scope) => {
  mkdirSync(out, { recursive: true })
  const browser = await startBrowser(scope)
  const { nodes, loseNode } = await startBusyCluster(scope)
  const origin = nodes[0]!.http
  console.log(nodes.map(({ http }) => http).join(' '))
  // The charts have steps of ten seconds.
  await pause(Number(values.seconds))
  await takeAll(browser, origin, 'whole')
  await loseNode(nodes[2]!)
  // Its shards are led by others by then.
  await pause(10)
  await takeAll(browser, origin, 'one-away')
})

async function takeAll(browser: Browser, origin: string, state: State): Promise<void> {
  if (values.docs) {
    for (const { file, page, look, act } of inDocs.filter((each) => each.state === state)) {
      const reader = await logIn(browser, origin, look)
      await show(reader, page)
      if (act !== undefined) await reader.act(act)
      await reader.page.screenshot({ path: join(out, `${file}.png`) })
      await reader.page.context().close()
    }
    return
  }
  const wanted = pages.filter((page) => positionals.length === 0 || positionals.includes(fileOf(page)))
  for (const look of looks) {
    const name = `${look.locale.slice(0, 2)}-${look.width}-${look.colorScheme}`
    if (values.only !== undefined && !name.includes(values.only)) continue
    const reader = await logIn(browser, origin, look, join(out, `login-${name}.png`))
    for (const page of wanted) {
      await show(reader, page)
      const path = join(out, `${state}-${fileOf(page)}-${name}.png`)
      await reader.page.screenshot({ path, fullPage: true })
    }
    for (const fault of reader.faults) console.error(`${name}: ${fault}`)
    await reader.page.context().close()
  }
}

async function logIn(browser: Browser, origin: string, look: Look, path?: string): Promise<Reader> {
  const { locale, colorScheme, width } = look
  const viewport = { width, height: width < 500 ? 844 : 900 }
  const reader = await Reader.come(browser, origin, { locale, colorScheme, viewport })
  await reader.go('')
  if (path !== undefined) await reader.page.screenshot({ path })
  await reader.logIn('admin', password)
  await reader.page.locator('nav').first().waitFor()
  return reader
}

async function show(reader: Reader, page: string): Promise<void> {
  await reader.go(page)
  await reader.loaded()
  // What the stream tells first is drawn with its first ticks.
  await pause(2.5)
}

function fileOf(page: string): string {
  return page === '' ? 'overview' : page.replace(/\?.*/, '').replaceAll('/', '-')
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
