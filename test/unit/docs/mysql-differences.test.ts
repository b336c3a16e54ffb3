import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deviations } from '../../integration/mysql-proxy/differential/differences.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/mysql-differences.md'), 'utf8')

function tableOf(heading: string): string[] {
  const section = page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  return [...section.matchAll(/^\|.*$/gm)].map(([row]) => row).slice(2)
}

test('the page about the MySQL proxy lists every reply that the corpus knows to differ from that of AUTO_INCREMENT, and no other', () => {
  const listed = Object.values(deviations).map(
    ({ after, direct, proxied, reason }) => `| ${after} | ${direct} | ${proxied} | ${reason} |`,
  )
  assert.deepEqual(tableOf('Replies that differ'), listed)
})
