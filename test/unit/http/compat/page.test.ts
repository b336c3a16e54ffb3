/** The reference page of the compatible APIs, tried line by line. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { loadConfig } from '../../../../src/config/load-config.ts'
import { buildHttpApp } from '../../../../src/http/app.ts'
import { startNode } from '../../../../src/node/start.ts'

const path = join(import.meta.dirname, '../../../../docs/reference/compatible-apis.md')
const page = readFileSync(path, 'utf8')

function blocks(language: string): string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text!)
}

/** A line `curl …` as a request: -X METHOD, -sI, -d FORM and a URL. */
function requestOf(line: string): InjectOptions & { readonly headOnly: boolean } {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)
  assert.equal(words[0], 'curl')
  const form = words.includes('-d') ? words[words.indexOf('-d') + 1]! : undefined
  const method = words.includes('-X') ? words[words.indexOf('-X') + 1] : form === undefined ? 'GET' : 'POST'
  const url = words.find((word) => word.startsWith('http://'))!.replace('http://127.0.0.1:7380', '')
  const more =
    form === undefined
      ? {}
      : { payload: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  return { method: method as 'GET', url, ...more, headOnly: words.includes('-sI') }
}

async function serveThePage(t: TestContext) {
  const [yaml] = blocks('yaml')
  const { config } = loadConfig({ flags: { config: 'a', engine: 'memory:' }, readFile: () => yaml })
  const node = await startNode(config)
  const app = buildHttpApp({ node, host: '127.0.0.1', compat: config.compat })
  t.after(async () => {
    await app.close()
    await node.close()
  })
  return app
}

test('every example on the page gets the answer on the page', async (t) => {
  const zone = process.env.TZ
  process.env.TZ = 'UTC'
  t.after(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })
  const app = await serveThePage(t)
  const steps = blocks('console').flatMap((block) => block.split(/^\$ /m).slice(1))
  assert.ok(steps.length > 12)
  for (const step of steps) {
    const [line = '', ...expected] = step.trimEnd().split('\n')
    const { headOnly, ...request } = requestOf(line)
    const answer = await app.inject(request)
    const now = answer.body.replace(/"timestamp":\d{13},/, '"timestamp":1767225600000,')
    const shown = headOnly ? `fahao-error: ${answer.headers['fahao-error']}` : now
    assert.equal(shown, expected.join('\n'), line)
  }
})

test('every path of the APIs is on the page', async (t) => {
  const app = await serveThePage(t)
  for (const named of page.matchAll(/^\| `(\/[^`?]+)/gm)) {
    const url = named[1]!.replace('{key}', 'order')
    assert.equal(app.hasRoute({ method: 'GET', url: named[1]!.replace('{key}', ':key') }), true, url)
  }
})
