/** The clients of Go, Java and Python, which come from the registries that those tools are set to. */
import type { Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { type Client, file, program, url } from './client.ts'

const goDrivers = [
  'pgx',
  'pgx-exec',
  'pgx-simple',
  'pgx-describe',
  'pgx-cache-describe',
  'pgx-sql',
  'pq',
  'pq-binary',
]
const jdbcOptions = [
  '',
  'preferQueryMode=simple',
  'preferQueryMode=extendedForPrepared',
  'preferQueryMode=extendedCacheEverything&binaryTransfer=true',
  'prepareThreshold=1&assumeMinServerVersion=14',
]
const pythonDrivers = ['psycopg2', 'psycopg', 'pg8000', 'asyncpg']
const sqlAlchemyDrivers = ['psycopg2', 'psycopg', 'pg8000', 'asyncpg']

/** Fetches and builds them in temporary folders; resolves when they can run. */
export async function externalClients(lifetime: Lifetime): Promise<readonly Client[]> {
  return [
    ...(await goClients(lifetime)),
    ...(await javaClients(lifetime)),
    ...(await pythonClients(lifetime)),
  ]
}

async function goClients(lifetime: Lifetime): Promise<Client[]> {
  const built = `${temporaryFolder(lifetime)}/clients`
  await runProgram(['go', 'build', '-o', built, '.'], { cwd: file('go') })
  return goDrivers.map((driver) =>
    program(`Go, ${driver}`, [built, driver, url], { env: { PGSSLMODE: 'disable' } }),
  )
}

async function javaClients(lifetime: Lifetime): Promise<Client[]> {
  const target = temporaryFolder(lifetime)
  const goals = [
    'compile',
    'dependency:copy-dependencies',
    `-DoutputDirectory=${target}/libraries`,
    `-Dtarget=${target}`,
  ]
  await runProgram(['mvn', '-B', '-ntp', '-q', '-f', file('java', 'pom.xml'), ...goals])
  const java = [
    'java',
    '-Dorg.jboss.logging.provider=slf4j',
    '-cp',
    `${target}/classes:${target}/libraries/*`,
  ]
  const tls = { tlsQuery: 'sslmode=require' }
  return [
    ...jdbcOptions.map((options) =>
      program(`JDBC${options && `, ${options.replaceAll('&', ', ')}`}`, [...java, 'Jdbc', url, options], tls),
    ),
    program('Hibernate', [...java, 'Hibernate', url], tls),
    program('jOOQ', [...java, 'Others', 'jooq', url], tls),
    program('R2DBC', [...java, 'Others', 'r2dbc', url], tls),
  ]
}

async function pythonClients(lifetime: Lifetime): Promise<Client[]> {
  const packages = temporaryFolder(lifetime)
  const requirements = file('python', 'requirements.txt')
  await runProgram(['python3', '-m', 'pip', 'install', '-q', '--target', packages, '-r', requirements])
  const env = { PYTHONPATH: packages }
  const frameworks = [...sqlAlchemyDrivers.map((driver) => `sqlalchemy-${driver}`), 'django']
  return [
    ...pythonDrivers.map((driver) =>
      program(driver, ['python3', file('python', 'drivers.py'), driver, url], { env }),
    ),
    ...frameworks.map((name) =>
      program(name, ['python3', file('python', 'frameworks.py'), name, url], { env }),
    ),
  ]
}
