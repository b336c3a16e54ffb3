/** Query parameters that are given twice. Every operation and every parameter is tried. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

type Parameter = { readonly in: string; readonly name: string; readonly schema: { readonly type?: string } }
type Documented = { readonly parameters?: readonly Parameter[] }

/** A list is given so. */
function isSingle({ in: place, schema }: Parameter): boolean {
  return place === 'query' && schema.type !== 'array'
}

test('a query parameter that is given twice is refused', async () => {
  const node = fakeNode()
  node.catalogue.add('x', { kind: 'sequence' })
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const { paths }: { paths: Record<string, Record<string, Documented>> } = (
    await app.inject('/openapi.json')
  ).json()
  let tried = 0
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { parameters = [] }] of Object.entries(operations))
      for (const { name } of parameters.filter(isSingle)) {
        const url = `${path.replace(/\{\w+\}/g, 'x')}?${name}=1&${name}=1`
        const answer = await app.inject({ method: method.toUpperCase() as 'GET', url })
        assert.equal(answer.statusCode, 400, url)
        assert.match(answer.body, new RegExp(`query parameter '${name}' is given 2 times; give it once`), url)
        tried++
      }
  assert.ok(tried > 10, `${tried} parameters`)
})
