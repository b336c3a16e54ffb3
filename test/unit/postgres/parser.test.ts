import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

/** Parses many statements in a process of its own, and prints the most memory that it had, in kB. */
const program = `
  const { loadParser, parse } = await import('${import.meta.resolve('../../../src/postgres/parser.ts')}')
  await loadParser()
  for (let count = 0; count < 30_000; count++) parse("SELECT nextval('orders')")
  console.log(process.resourceUsage().maxRSS)`

test('statements that are parsed again and again take little memory', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  assert.ok(Number(printed) < 200_000, `${printed} kB`)
})
