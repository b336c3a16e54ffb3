/** The clients of Go, Java and Python, which come from the registries that those tools are set to. */
import { join } from 'node:path'
import type { Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import { program } from './programs.ts'
import type { Subject } from './report.ts'

const here = import.meta.dirname
const connectorJ = ['rewriteBatchedStatements=false', 'rewriteBatchedStatements=true'].flatMap((batches) =>
  ['useServerPrepStmts=false', 'useServerPrepStmts=true'].map((prepared) => `${batches}&${prepared}`),
)
const furtherConnectorJ = ['useCompression=true&useCursorFetch=true&allowMultiQueries=true']
const mariaDbJ = [
  'useServerPrepStmts=false',
  'useServerPrepStmts=true',
  'useServerPrepStmts=true&useBulkStmts=true',
]

/** Fetches and builds them in temporary folders; resolves when they can run. */
export async function externalSubjects(lifetime: Lifetime): Promise<readonly Subject[]> {
  return [
    ...(await goSubjects(lifetime)),
    ...(await javaSubjects(lifetime)),
    ...(await pythonSubjects(lifetime)),
  ]
}

async function goSubjects(lifetime: Lifetime): Promise<Subject[]> {
  const built = join(temporaryFolder(lifetime), 'mysql-clients')
  await runProgram(['go', 'build', '-o', built, '.'], { cwd: join(here, 'go') })
  return [
    program('go-sql-driver/mysql', [built, '']),
    program('go-sql-driver/mysql, compress', [built, 'compress=true']),
    program('go-sql-driver/mysql, interpolateParams', [built, 'interpolateParams=true']),
    program('GORM', [built, '', 'gorm']),
  ]
}

async function javaSubjects(lifetime: Lifetime): Promise<Subject[]> {
  const target = temporaryFolder(lifetime)
  const libraries = join(target, 'libraries')
  const goals = [
    'compile',
    'dependency:copy-dependencies',
    `-DoutputDirectory=${libraries}`,
    `-Dtarget=${target}`,
  ]
  await runProgram(['mvn', '-B', '-ntp', '-q', '-f', join(here, 'java', 'pom.xml'), ...goals])
  const run = ['java', '-cp', `${join(target, 'classes')}:${libraries}/*`]
  const java = [...run, 'Cases']
  const hibernate = [...run, 'Hibernate']
  return [
    ...[...connectorJ, ...furtherConnectorJ].map((properties) =>
      program(`Connector/J, ${properties.replaceAll('&', ', ')}`, [...java, 'mysql', properties]),
    ),
    ...mariaDbJ.map((properties) =>
      program(`MariaDB Connector/J, ${properties.replaceAll('&', ', ')}`, [...java, 'mariadb', properties]),
    ),
    program('Hibernate, Connector/J', [...hibernate, 'mysql']),
    program('Hibernate, MariaDB Connector/J', [...hibernate, 'mariadb']),
  ]
}

async function pythonSubjects(lifetime: Lifetime): Promise<Subject[]> {
  const packages = temporaryFolder(lifetime)
  const requirements = join(here, 'python', 'requirements.txt')
  await runProgram(['python3', '-m', 'pip', 'install', '-q', '--target', packages, '-r', requirements])
  const python = ['python3', join(here, 'python', 'cases.py')]
  const orms = join(here, 'python', 'orms.py')
  const env = { PYTHONPATH: packages }
  return [
    program('PyMySQL', [...python, 'pymysql'], env),
    program('mysql-connector-python', [...python, 'connector'], env),
    program('Django', ['python3', orms, 'django'], env),
    program('SQLAlchemy, mysql', ['python3', orms, 'sqlalchemy-mysql'], env),
    program('SQLAlchemy, mariadb', ['python3', orms, 'sqlalchemy-mariadb'], env),
  ]
}
