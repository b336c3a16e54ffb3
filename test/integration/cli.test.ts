/** The verbs that ask a server, as users run them: real processes, their exit codes, and what they print. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { startProcess } from '../launch/process.ts'
import { onTerminal } from '../launch/terminal.ts'
import { asking, assertSentence, ended, entry, fahao } from './cli-program.ts'

describe('verbs against a server', () => {
  test('create, use, look at, change and drop a generator', async (t) => {
    const run = asking(t, await startFahao(t))
    const created = await run(
      'create',
      'order',
      '--kind',
      'sequence',
      '--start',
      '9007199254740993',
      '--json',
    )
    assert.equal(created.code, 0, created.stderr)
    assert.equal(JSON.parse(created.stdout).definition.start, '9007199254740993')
    assert.deepEqual(ended(await run('next', 'order')), [0, '9007199254740993'])
    assert.deepEqual(ended(await run('next', 'order', '--count', '2')), [
      0,
      '9007199254740994\n9007199254740995',
    ])
    assert.deepEqual(JSON.parse((await run('next', 'order', '--json')).stdout), { ids: ['9007199254740996'] })
    assert.match((await run('info', 'order')).stdout, /last issued +9007199254740996/)
    assert.equal((await run('alter', 'order', '--floor', '9007199254750000')).code, 0)
    assert.deepEqual(ended(await run('next', 'order')), [0, '9007199254750000'])
    assert.match((await run('list')).stdout, /order +sequence +start=9007199254740993/)
    assert.equal((await run('drop', 'order', '--yes')).code, 0)
    assert.match((await run('list')).stdout, /fahao create/)
  })

  test('what cannot be undone is asked on a terminal, and wants --yes elsewhere', async (t) => {
    const server = await startFahao(t)
    const run = asking(t, server)
    const names = async () =>
      JSON.parse((await run('list', '--json')).stdout).generators.map(({ name }: { name: string }) => name)
    await run('create', 'order', '--kind', 'sequence')
    const refused = await run('drop', 'order')
    assert.equal(refused.code, 2)
    assertSentence(refused.stderr, /cannot be undone .*nothing was changed; repeat it with --yes/)
    for (const [keys, code, left] of [
      ['no\r', 2, ['order']],
      ['\x04', 2, ['order']],
      ['yes\r', 0, []],
    ] as const) {
      const terminal = onTerminal(t, ['drop', 'order', '--url', server.http])
      await terminal.until("the generator 'order' is dropped: requests for it fail. Go on? (yes or no): ")
      terminal.type(keys)
      assert.equal(await terminal.exited, code)
      assert.deepEqual(await names(), left)
    }
  })

  test('a backup and a restore show their progress on a terminal', async (t) => {
    const folder = temporaryFolder(t)
    const [engine, copy] = [`sqlite:${join(folder, 'store.db')}`, join(folder, 'copy.db')]
    const server = await startFahao(t, { engine })
    await server.kill()
    const run = async (...args: string[]) => {
      const terminal = onTerminal(t, [...args, '--engine', engine])
      // One wait: the progress and the end may be drawn at once.
      const shown = await terminal.until(/records +\d/)
      assert.match(shown, /\r[\d,]+ of [\d,]+ bytes/)
      assert.equal(await terminal.exited, 0)
      return shown
    }
    await run('backup', copy)
    assert.match(await run('restore', copy, '--skip', '1000', '--yes'), /file +\S+store\.db/)
  })

  test('help and version are verbs too', async (t) => {
    const run = (...args: string[]) => fahao(t, args)
    assert.equal((await run('help', 'create')).stdout, (await run('create', '--help')).stdout)
    assert.equal((await run('help')).stdout, (await run('--help')).stdout)
    assert.deepEqual(ended(await run('version')), ended(await run('--version')))
    assert.match((await run('version')).stdout, /^\d+\.\d+/)
  })

  test('formats are read back by name, and layouts without a server', async (t) => {
    const server = await startFahao(t)
    const run = asking(t, server)
    await run('create', 'sms', '--kind', 'segment', '--format', 'sms_{id}')
    const sms = (await run('next', 'sms')).stdout.trim()
    assert.match((await run('decode', sms, '--generator', 'sms')).stdout, /^id +1$/m)
    await run('create', 'label', '--kind', 'snowflake', '--format', '{id:19}')
    const day = ['--from', '2019-05-04T00:00:00Z', '--to', '2019-05-05T00:00:00Z']
    const bounds = await run('bounds', '--generator', 'label', ...day)
    assert.equal(bounds.stdout, "id >= '1124463648568246272' AND id < '1124826036433846272'\n")
    const encoded = await run('encode', '2019-05-04T00:00:00Z', '--generator', 'label', '--json')
    assert.equal(JSON.parse(encoded.stdout).text, '1124463648568246272')
    await run('create', 'history', '--kind', 'snowflake', '--past', '4')
    const past = await run('next', 'history', '--at', '2019-05-04T12:00:00Z', '--count', '2')
    assert.equal(past.stdout, '1124644842503143424\n1124644842503143425\n')
    assert.match((await run('decode', '1124644842503143424', '--generator', 'history')).stdout, /^past +1$/m)
    await server.kill()
    const here = await run('bounds', '--layout', 'twitter', ...day)
    assert.equal(here.stdout, 'id >= 1124463648568246272 AND id < 1124826036433846272\n')
    const other = await run('encode', '2019-05-04T00:00:00Z', '--layout', 'twitter', '--node', '5')
    assert.match(other.stdout, /^id +1124463648568266752$/m)
    assert.equal((await run('encode', '2019-05-04T00:00:00Z')).code, 2)
    const decoded = await run('decode', '1541815603606036480', '--layout', 'twitter')
    assert.match(decoded.stdout, /date +2022-06-28T16:07:40\.105Z/)
    const own = await run('decode', '2621480', '--layout', 'time:41,region:4=10,gene:2;epoch=0')
    assert.match(own.stdout, /^gene +0\nregion +10$/m)
    const byDefault = await run('decode', '1541815603606036480')
    assert.equal(byDefault.stdout, decoded.stdout, 'twitter, as RESP and HTTP have it')
  })

  test('advise says which column the texts of a format fit, without a server and without a rate', async (t) => {
    const cased = await fahao(t, ['advise', '--format', '{id::base62}'])
    assert.match(cased.stdout, /varchar\(11\).*ascii_bin.*\n.*case of letters/s)
    const wide = await fahao(t, ['advise', '--format', 'uuidv7', '--json'])
    assert.match(JSON.parse(wide.stdout).texts[0], /uuid in PostgreSQL and MariaDB, binary\(16\)/)
    const broken = await fahao(t, ['advise', '--format', '{id'])
    assert.notEqual(broken.code, 0)
    assertSentence(broken.stderr, /stands alone/)
  })

  test('list pages through more than one page, and matches', async (t) => {
    const names = Array.from({ length: 1200 }, (_, at) => `g:${String(at).padStart(4, '0')}`)
    const config = join(temporaryFolder(t), 'many.yaml')
    writeFileSync(config, `generators:\n${names.map((name) => `  '${name}': { kind: segment }\n`).join('')}`)
    const run = asking(t, await startFahao(t, { config, readyWithinMs: 300_000 }))
    const all: { generators: { name: string }[] } = JSON.parse((await run('list', '--json')).stdout)
    assert.deepEqual(
      all.generators.map(({ name }) => name),
      names,
    )
    const some = JSON.parse((await run('list', '--match', 'g:119*', '--json')).stdout)
    assert.equal(some.generators.length, 10)
  })

  test('leases lists the worker ids of nodes and callers, and matches', async (t) => {
    const server = await startFahao(t)
    const run = asking(t, server)
    assert.match((await run('leases')).stdout, /^no worker ids to show$/m)
    for (const name of ['event', 'other']) {
      assert.equal((await run('create', name, '--kind', 'snowflake')).code, 0)
      const path = `/v1/generators/${name}/leases?ttl=15m&holder=mail%20${name}`
      assert.equal((await fetch(`${server.http}${path}`, { method: 'POST' })).status, 200)
    }
    const { workers } = JSON.parse((await run('leases', '--match', 'ev*', '--json')).stdout)
    assert.equal(workers.length, 1)
    const { worker, untilUs } = workers[0]
    const until = new Date(untilUs / 1000).toISOString()
    const lines = (await run('leases', '--match', 'ev*')).stdout.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => line.split(/ {2,}/)),
      [
        ['WORKER', 'BY', 'HOLDER', 'GENERATOR', 'USER', 'UNTIL', 'STATE'],
        [String(worker), 'caller', 'mail event', 'event', 'default', until, 'held'],
      ],
    )
    assert.match((await run('leases')).stdout, /caller +mail other +other /)
    const unmatched = 'no worker ids to show for generators that match absent*'
    assert.deepEqual(ended(await run('leases', '--match', 'absent*')), [0, unmatched])
  })

  test('what goes wrong is told by one sentence and an exit code', async (t) => {
    const run = asking(t, await startFahao(t))
    const unknown = await run('next', 'absent')
    assert.equal(unknown.code, 1)
    assertSentence(unknown.stderr, /^fahao: NOGENERATOR .*fahao create absent --kind sequence/)
    const asJson = await run('next', 'absent', '--json')
    assert.deepEqual([asJson.code, asJson.stdout], [1, ''])
    assert.equal(JSON.parse(asJson.stderr).code, 'NOGENERATOR')
    assert.equal((await run('create', 'a', '--kind', 'serial')).code, 2)
    assert.equal((await run('create', 'a')).code, 2)
    assert.equal((await run('alter', 'a')).code, 2)
    assert.equal((await run('next')).code, 2)
    assert.equal((await run('nxt')).code, 2)
    const misspelled = await run('create', 'a', '--kidn', 'sequence')
    assert.deepEqual([misspelled.code, /Did you mean --kind/.test(misspelled.stderr)], [2, true])
    const away = await run('next', 'a', '--url', `http://127.0.0.1:${await freePort()}`)
    assert.equal(away.code, 3)
    assertSentence(away.stderr, /no server answers at .*fahao serve/)
  })

  test('output into a pipe that closes is no failure', async (t) => {
    // The reader is gone long before the first write.
    const line = `"${process.execPath}" "${entry}" config | true`
    const shell = await startProcess(t, { command: 'bash', args: ['-o', 'pipefail', '-c', line] })
    assert.deepEqual(await shell.exited, { code: 0, signal: null }, shell.output())
    assert.equal(shell.output(), '')
  })
})
