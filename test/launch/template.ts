/** What a database server has before its first start: made once in a run of tests, and copied for each file. */
import { existsSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from './program.ts'

/** Where the runner of suites lets processes of tests keep templates; without it each server's data is made anew. */
const folder = process.env.FAHAO_TEST_TEMPLATES

/** Templates that this process has copied. A second copy would have the identity of the first. */
const copied = new Set<string>()

/** Makes the folder `data` as `make` does, or as a copy of what it has made in another process of the same run. */
export async function fromTemplate(name: string, data: string, make: () => Promise<unknown>): Promise<void> {
  if (folder === undefined || copied.has(name)) {
    await make()
    return
  }
  copied.add(name)
  const template = join(folder, name)
  if (existsSync(template)) {
    await copy(template, data)
    return
  }
  await make()
  const own = `${template}-${process.pid}`
  await copy(data, own)
  // Of several processes that make it at once, the first has it.
  await rename(own, template).catch(() => rmSync(own, { recursive: true }))
}

async function copy(from: string, to: string): Promise<void> {
  await runProgram(['cp', '--archive', from, to])
}
