/** Clients that Prisma generates, in folders that go with the test. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { runProgram } from '../launch/program.ts'

const folder = import.meta.dirname

/** Generates a client of `models` for a provider; resolves to its class. Prisma then starts no program. `name` is its alone. */
export async function generatePrisma<Client>(
  lifetime: Lifetime,
  name: string,
  provider: string,
  models: string,
): Promise<new (options: object) => Client> {
  const output = join(folder, 'generated', `${name}-${process.pid}`)
  atEnd(lifetime, () => rmSync(output, { recursive: true, force: true }))
  mkdirSync(output, { recursive: true })
  const schema = join(output, 'models.prisma')
  writeFileSync(
    schema,
    `generator client {\n provider = "prisma-client-js"\n output = "${join(output, 'client')}"\n}
     datasource db {\n provider = "${provider}"\n}\n${models}`,
  )
  await runProgram([process.execPath, 'node_modules/prisma/build/index.js', 'generate', '--schema', schema], {
    cwd: folder,
    // Any program: the one that would be fetched is not needed to generate a client.
    env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
  })
  const made = await import(pathToFileURL(join(output, 'client', 'index.js')).href)
  return made.PrismaClient ?? made.default.PrismaClient
}
