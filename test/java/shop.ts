/**
 * A shop in Java: Spring Boot with mybatis-plus on ShardingSphere-JDBC over two databases. Ids come from this server through
 * CosId. Two JVMs write at once; one is killed in the middle and started again.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FahaoServer } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { runProgram } from '../launch/program.ts'

const project = join(import.meta.dirname, 'shop')
const databases = ['shop_0', 'shop_1']
const tables = ['t_order', 't_event']
const shards = [0, 1]
/** Of a JVM; each batch stores 21 orders, 20 events and a customer. */
const batches = 400

/** Versions of ShardingSphere-JDBC by the profile of the project that fetches them. */
const shardingSpheres = { published: '5.4.0', current: '5.5.2' }

/** The page that shows the rule, and the class for the newer ShardingSphere. */
const page = readFileSync(join(import.meta.dirname, '../../docs/start/shardingsphere.md'), 'utf8')

/** Resolves to lines of figures; rejects if an id is in the databases twice, or a stored row is missing. */
export async function fillShops(lifetime: Lifetime, server: FahaoServer): Promise<string> {
  for (const file of ['sharding.yaml', 'current/CosIdKeys.java']) {
    const text = readFileSync(join(project, file), 'utf8').replace(/^package .*\n\n/, '')
    assert.ok(page.includes(text), `docs/start/shardingsphere.md does not show ${file} as it is`)
  }
  const lines: string[] = []
  for (const profile of ['published', 'current'] as const) {
    const java = await build(lifetime, profile)
    lines.push(`ShardingSphere ${shardingSpheres[profile]}: ${await fillShop(lifetime, server, java)}`)
  }
  return lines.join('\n')
}

async function fillShop(lifetime: Lifetime, server: FahaoServer, java: readonly string[]): Promise<string> {
  const database = await createTables(lifetime)
  const folder = temporaryFolder(lifetime)
  const rules = join(folder, 'sharding.yaml')
  const yaml = readFileSync(join(project, 'sharding.yaml'), 'utf8')
  writeFileSync(rules, yaml.replaceAll('db:3306', `127.0.0.1:${database.port}`))
  const start = (writer: string) =>
    startProcess(lifetime, {
      command: 'java',
      args: [
        `-Dfahao.url=${server.http}`,
        ...java,
        'fahao.Shop',
        `--spring.config.location=file:${join(project, 'application.properties')}`,
        `--spring.datasource.url=jdbc:shardingsphere:absolutepath:${rules}`,
        `--writer=${writer}`,
        `--batches=${batches}`,
      ],
      cwd: folder,
      readyWhen: { line: /^stored \d/ },
      readyWithinMs: 120_000,
    })
  const startedMs = performance.now()
  const [first, killed] = await Promise.all([start('first'), start('killed')])
  await untilStored(killed, batches / 2)
  await killed.kill('SIGKILL')
  const again = await start('again')
  for (const each of [first, again]) {
    const { code } = await each.exited
    assert.equal(code, 0, each.output())
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const rows = await countRows(database)
  await database.stop()
  return `${rows} rows of 3 JVMs, of which one was killed after ${storedBy(killed)} of ${batches} batches, in ${seconds} s: no id twice`
}

/** Resolves to the arguments of java. */
async function build(lifetime: Lifetime, profile: keyof typeof shardingSpheres): Promise<readonly string[]> {
  const target = temporaryFolder(lifetime)
  const libraries = join(target, 'libraries')
  const fetch = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${libraries}`]
  await runProgram(['mvn', '-B', '-ntp', '-q', '-f', join(project, 'pom.xml'), `-P${profile}`, ...fetch])
  const classes = join(target, 'classes')
  const sources = [project, ...(profile === 'current' ? [join(project, 'current')] : [])].flatMap((folder) =>
    globSync(join(folder, '*.java')),
  )
  const shared = join(import.meta.dirname, 'src/test/java')
  const path = `${libraries}/*`
  await runProgram([
    'javac',
    '-nowarn',
    '-parameters',
    '-d',
    classes,
    '-cp',
    path,
    '-sourcepath',
    shared,
    ...sources,
  ])
  return [
    '-Xmx512m',
    '-cp',
    [classes, ...(profile === 'current' ? [join(project, 'current')] : []), path].join(':'),
  ]
}

/** The tables have no unique key, so that an id that comes twice is stored twice. */
async function createTables(lifetime: Lifetime): Promise<MariaDb> {
  const database = await startMariaDb(lifetime)
  await database.admin("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'")
  for (const name of databases) {
    const columns = '(id BIGINT NOT NULL, user_id BIGINT NOT NULL, writer VARCHAR(16) NOT NULL)'
    const sharded = tables.flatMap((table) => shards.map((shard) => `${table}_${shard}`))
    const made = sharded.map((table) => `CREATE TABLE ${name}.${table} ${columns}`)
    await database.admin(
      `CREATE DATABASE ${name}; GRANT ALL PRIVILEGES ON ${name}.* TO app@'127.0.0.1'; ${made.join(';')}`,
    )
  }
  await database.admin('CREATE TABLE shop_0.customer (id BIGINT NOT NULL, writer VARCHAR(16) NOT NULL)')
  return database
}

async function countRows(database: MariaDb): Promise<string> {
  const counted: string[] = []
  const sharded = tables.map((table) => ({
    table,
    parts: databases.flatMap((name) => shards.map((shard) => `${name}.${table}_${shard}`)),
  }))
  for (const { table, parts } of [...sharded, { table: 'customer', parts: ['shop_0.customer'] }]) {
    const all = parts.map((part) => `SELECT id, writer FROM ${part}`).join(' UNION ALL ')
    const [row] = await database.admin(
      `SELECT count(*) AS stored, count(DISTINCT id) AS ids, coalesce(sum(writer <> 'killed'), 0) AS finished FROM (${all}) AS shop`,
    )
    const { stored, ids, finished } = row!
    const each = { t_order: 21, t_event: 20, customer: 1 }[table]!
    assert.equal(ids, stored, `${table}: an id is stored twice`)
    assert.equal(
      Number(finished),
      2 * batches * each,
      `${table}: not all rows that were told stored are there`,
    )
    for (const part of parts) {
      const [size] = await database.admin(`SELECT count(*) AS stored FROM ${part}`)
      assert.ok(Number(size!.stored) > 0, `${part} has no rows`)
    }
    counted.push(`${stored} of ${table}`)
  }
  return counted.join(', ')
}

async function untilStored(writer: RunningProcess, wanted: number): Promise<void> {
  while (storedBy(writer) < wanted) {
    if (writer.exit()) throw new Error(`a JVM ended too early:\n${writer.output()}`)
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), writer.exited])
  }
}

/** How many batches a JVM has told stored. */
function storedBy(writer: RunningProcess): number {
  return Math.max(
    0,
    ...writer
      .output()
      .split('\n')
      .map((line) => Number(/^stored (\d+)$/.exec(line)?.[1] ?? 0)),
  )
}
