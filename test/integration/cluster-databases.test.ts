/** A cluster on each database. */
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { describeCluster } from './cluster-scenario.ts'

describeCluster('MariaDB', async (lifetime) => (await startMariaDb(lifetime)).newDatabase())
describeCluster('PostgreSQL', async (lifetime) => (await startPostgres(lifetime)).newDatabase())
