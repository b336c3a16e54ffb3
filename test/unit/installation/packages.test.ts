import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { FahaoError } from '../../../src/base/errors.ts'
import { packageOf } from '../../../src/installation/packages.ts'
import { temporaryFolder } from '../../launch/places.ts'

const folder = temporaryFolder({ after })

/** Imports `pg` as a file of `folder` does. */
function importThere(): Promise<unknown> {
  const user = join(folder, 'user.mjs')
  writeFileSync(user, "export const load = () => import('pg')")
  return import(pathToFileURL(user).href).then(({ load }) => load())
}

/** Puts a package with this code into the folder. */
function install(name: string, code: string): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"main": "./index.js"}')
  writeFileSync(join(place, 'index.js'), code)
}

async function refusalOf(loading: Promise<unknown>): Promise<string> {
  const error = await packageOf('pg', loading).catch((reason: unknown) => reason)
  assert.ok(error instanceof FahaoError && error.code === 'ENGINE')
  return error.message
}

test('a package that is not there is called missing, and one that cannot be loaded is not', async () => {
  assert.equal(
    await refusalOf(importThere()),
    "the package pg is missing: install it with 'npm install pg@8'",
  )
  install('pg', "require('pg-protocol')")
  assert.match(
    await refusalOf(importThere()),
    /^the package pg cannot be loaded \(Cannot find module 'pg-protocol'\): install it again with 'npm install pg@8'$/,
  )
})
