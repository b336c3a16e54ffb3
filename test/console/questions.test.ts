/** What a new operator asks of a busy cluster, and after how many clicks from the overview the answer is there. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Scope } from '../launch/lifetime.ts'
import { askAsAdmin, password, startBusyCluster } from './busy-cluster.ts'
import { Reader, startBrowser, textOf } from './reader.ts'

const scope = new Scope()
after(() => scope.end())

test('questions of a new operator are answered within a click', { timeout: 200_000 }, async () => {
  const browser = await startBrowser(scope)
  const { nodes } = await startBusyCluster(scope)
  const reader = await Reader.come(browser, nodes[1]!.http)
  const { page } = reader
  await reader.go('')
  await reader.logIn('admin', password)

  // Which generator ends first, and when? No click: `voucher`, after what has ended already.
  const ends = page.getByRole('region', { name: 'What ends soon' })
  // A generator is listed once its rate is known.
  for (const row of [/^voucher sequence \d/, /^ticket/, /^invoice/])
    await ends.getByRole('row', { name: row }).waitFor()
  const names = await ends.getByRole('row').allTextContents()
  assert.deepEqual(
    names.slice(1).flatMap((row) => /^(?:voucher|ticket|invoice)/.exec(row) ?? []),
    ['voucher', 'ticket', 'invoice'],
  )

  // Why do requests fail? No click: the code, and what it means.
  const errors = page.getByRole('region', { name: 'Errors by code' })
  await errors.getByRole('row', { name: /^NOGENERATOR There is no generator of this name/ }).waitFor()

  // Who leads `order`? One click.
  const answer = await askAsAdmin(nodes[0]!, 'GET', '/v1/generators/order')
  const { leader } = (await answer.json()) as { leader: string }
  await page.getByRole('link', { name: 'order', exact: true }).click()
  await page.getByRole('link', { name: leader }).waitFor()

  // How many worker ids are left? One click, from anywhere.
  await page.getByRole('link', { name: 'Worker ids', exact: true }).click()
  const left = page
    .getByRole('region', { name: 'Worker ids that are left' })
    .getByRole('row', { name: /^event/ })
  await left.waitFor()
  // 1,024, of which the lowest 16 are kept for nodes and three are leased; three nodes hold one each.
  assert.match(await textOf(left), /1,0241,0051,01[89]/)
})
