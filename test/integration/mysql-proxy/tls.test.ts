/** TLS between clients and the MySQL proxy, and between the proxy and the server: each with the other or without it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { type CertificateFiles, makeCertificates } from '../../launch/certificates.ts'
import { owner, password } from '../../launch/database.ts'
import { Scope } from '../../launch/lifetime.ts'
import type { MariaDb } from '../../launch/mariadb.ts'
import { startMysql, withoutTls } from '../../launch/mysql.ts'
import { startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { runProgram } from '../../launch/program.ts'

const scope = new Scope()
let files: CertificateFiles
let db: MariaDb

before(async () => {
  files = await makeCertificates(temporaryFolder(scope))
  db = await startMysql(scope, { 'ssl-cert': files.cert, 'ssl-key': files.key, 'ssl-ca': files.ca })
  await db.admin(`GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1'`)
})
after(() => scope.end())

for (const isClientTls of [true, false]) {
  for (const isUpstreamTls of [true, false]) {
    describe(`with TLS ${isClientTls ? 'to' : 'not to'} clients and ${isUpstreamTls ? 'to' : 'not to'} the server`, () => {
      let port: number
      before(async () => {
        const client = isClientTls ? ['--tls-cert', files.cert, '--tls-key', files.key] : []
        const upstream = `mysql${isUpstreamTls ? 's' : ''}://127.0.0.1:${db.port}`
        const args = [...client, ...(isUpstreamTls ? ['--upstream-ca', files.ca] : [])]
        port = (await startMysqlProxy(scope, { upstream, args })).port
      })

      test('mysql2 logs in, and the server sees TLS where it is', async () => {
        const connection = await createConnection({
          host: '127.0.0.1',
          port,
          user: owner,
          password,
          ...(isClientTls && { ssl: { ca: readFileSync(files.ca, 'utf8') } }),
        })
        const [[row]] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'Ssl_cipher'")
        assert.equal(row?.Value !== '', isUpstreamTls)
        await connection.changeUser({ user: owner, password })
        await connection.query("SELECT REPEAT('x', 1000000)")
        await connection.end()
      })

      test('the mariadb program logs in', async () => {
        const tls = isClientTls ? [`--ssl-ca=${files.ca}`, '--ssl-verify-server-cert'] : ['--skip-ssl']
        const login = ['--host=127.0.0.1', `--port=${port}`, `--user=${owner}`, `--password=${password}`]
        const asked = ['mariadb', '--no-defaults', ...login, ...tls, '--batch', '-N', '-e', 'SELECT 1']
        assert.equal(await runProgram(asked), '1\n')
      })
    })
  }
}

test('a client without TLS is refused where clients have to have it', async () => {
  const { port } = await startMysqlProxy(scope, {
    upstream: db.port,
    args: ['--tls-cert', files.cert, '--tls-key', files.key],
  })
  const login = createConnection({ host: '127.0.0.1', port, user: owner, password })
  await assert.rejects(login, { errno: 3159 })
})

test('a server whose certificate is by another authority, or without TLS, is not spoken to', async () => {
  const { port } = await startMysqlProxy(scope, { upstream: `mysqls://127.0.0.1:${db.port}` })
  await assert.rejects(createConnection({ host: '127.0.0.1', port, user: owner, password }), {
    errno: 1429,
    message: /the connection to the MySQL server at .* failed/,
  })
  const plain = await startMysql(scope, withoutTls)
  const other = await startMysqlProxy(scope, { upstream: `mysqls://127.0.0.1:${plain.port}` })
  const login = createConnection({ host: '127.0.0.1', port: other.port, user: owner, password })
  await assert.rejects(login, { errno: 1429 })
})
