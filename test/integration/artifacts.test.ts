/** The executable and the package of Debian, made as for a release, and used as users do. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { buildBinary } from '../../scripts/release/binary.ts'
import { buildDeb } from '../../scripts/release/deb.ts'
import { manPage } from '../../scripts/release/man-page.ts'
import { program } from '../../src/cli/main.ts'
import { settings } from '../../src/config/config-schema.ts'
import { DebianRoot } from '../launch/debian-root.ts'
import { startFahao } from '../launch/fahao.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { runProgram } from '../launch/program.ts'

const folder = temporaryFolder({ after })
let binary: Awaited<ReturnType<typeof buildBinary>>
let executable = ''

before(async () => {
  binary = await buildBinary(folder)
  executable = binary.executable
})

describe('the executable', () => {
  test('serves ids from an SQLite store, and none twice after kill -9', async (context) => {
    const server = await startFahao(context, { executable, args: ['--auto-create', '*=sequence'] })
    const client = await server.connect()
    assert.equal(await client.command('INCR', 'order'), 1n)
    await server.kill()
    await server.restart()
    assert.ok(((await (await server.connect()).command('INCR', 'order')) as bigint) > 1n)
  })

  test('contains the driver of PostgreSQL, and the parser of its protocol', async (context) => {
    const database = await startPostgres(context)
    const port = await freePort()
    const engine = await database.newDatabase()
    await startFahao(context, { executable, engine, args: ['--postgres', `127.0.0.1:${port}`] })
    const client = new Client({ host: '127.0.0.1', port, user: 'app', database: 'ids' })
    await client.connect()
    await client.query('CREATE SEQUENCE order_id START 100')
    assert.deepEqual((await client.query("SELECT nextval('order_id')")).rows, [{ nextval: '100' }])
    await client.end()
  })

  test('answers the command line as the program does', async () => {
    assert.match(await runProgram([executable, '--version']), /^\d+\.\d+\.\d+/)
    assert.match(await runProgram([executable, 'completion', 'bash']), /complete -F _fahao fahao/)
    await assert.rejects(runProgram([executable, 'serve', '--config', '/nowhere.yaml']), /nowhere\.yaml/)
  })
})

describe('the package of Debian', () => {
  const secret = 'FAHAO_ADMIN_PASSWORD=x\n'

  test('is installed, serves, is upgraded with its settings and its store, and is purged', async (context) => {
    const root = await DebianRoot.make(context, ['adduser', 'init-system-helpers', 'libstdc++6'])
    const inRoot = (path: string) => join(root.folder, path)
    const install = async (version: string) => {
      const file = await buildDeb(folder, { ...binary, version, compression: 'none' })
      copyFileSync(file, inRoot(basename(file)))
      await root.run('dpkg', '--force-unsafe-io', '--install', `/${basename(file)}`)
    }
    await install('0.0.1')
    assert.match(await root.run('getent', 'passwd', 'fahao'), /:\/var\/lib\/fahao:\/usr\/sbin\/nologin$/m)
    assert.match(
      await root.run('stat', '-c', '%U:%G %a', '/etc/fahao', '/var/lib/fahao'),
      /^root:fahao 750\nfahao:fahao 700$/m,
    )
    assert.ok(existsSync(inRoot('etc/systemd/system/multi-user.target.wants')), 'the service starts at boot')
    for (const path of ['prometheus/alerts.yml', 'grafana/fahao.json'])
      assert.ok(existsSync(inRoot(`usr/share/fahao/${path}`)), path)

    const server = await startFahao(context, {
      wrapper: ['chroot', '--userspec=fahao:fahao', root.folder],
      executable: '/usr/bin/fahao',
      engine: 'sqlite:/var/lib/fahao/fahao.db',
      config: '/etc/fahao/fahao.yaml',
      args: ['--auto-create', '*=sequence'],
    })
    assert.equal(await (await server.connect()).command('INCR', 'order'), 1n)
    writeFileSync(inRoot('etc/fahao/fahao.yaml'), 'engine: sqlite:/var/lib/fahao/fahao.db\nlog-level: warn\n')
    writeFileSync(inRoot('etc/fahao/fahao.env'), secret)
    await server.kill('SIGTERM')

    await install('0.0.2')
    assert.match(readFileSync(inRoot('etc/fahao/fahao.yaml'), 'utf8'), /log-level: warn/)
    await server.restart()
    assert.equal(await (await server.connect()).command('INCR', 'order'), 2n)
    await server.kill('SIGTERM')

    await root.run('dpkg', '--remove', 'fahao')
    assert.ok(existsSync(inRoot('etc/fahao/fahao.yaml')) && !existsSync(inRoot('usr/bin/fahao')))
    await root.run('dpkg', '--purge', 'fahao')
    assert.ok(!existsSync(inRoot('etc/fahao')), 'settings and secrets go')
    assert.ok(
      statSync(inRoot('var/lib/fahao/fahao.db')).size > 0,
      'the store keeps ids from being issued again',
    )
  })

  test('is the same when it is made again', async () => {
    const options = { ...binary, compression: 'none' } as const
    const made = await Promise.all(
      ['a', 'b'].map(async (name) => readFileSync(await buildDeb(join(folder, name), options))),
    )
    assert.ok(made[0]!.equals(made[1]!))
  })

  test('has a unit whose exposure is 2.0 at most', async () => {
    const unit = join(import.meta.dirname, '../../packaging/deb/fahao.service')
    await runProgram(['systemd-analyze', 'security', '--offline=true', '--threshold=20', unit])
  })

  test('has a manual page of every verb and every setting, of which man has nothing to complain', async () => {
    const file = join(folder, 'fahao.1')
    writeFileSync(file, await manPage('1.2.3', '2026-11-27'))
    const text = await runProgram([
      'sh',
      '-c',
      `LC_ALL=C MANWIDTH=200 man --warnings --local-file ${file} 2>&1`,
    ])
    for (const verb of (await program(() => true)).commands)
      assert.ok(text.includes(`fahao ${verb.name()} `), verb.name())
    for (const { name, variable } of settings)
      assert.match(text, new RegExp(`^ *--${name}( \\S+)?, ${variable}$`, 'm'))
    assert.doesNotMatch(text, /warning|error:/)
  })
})
