/** `fahao serve` as users run it: what it prints, what it refuses, and how it ends. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { startProcess } from '../launch/process.ts'
import { asking, assertSentence, entry, fahao, firstSteps, logOf } from './cli-program.ts'

describe('serve', () => {
  test('says in its log how to get the first id, in lines that work', async (t) => {
    const server = await startFahao(t, { args: ['--auto-create', '*=segment'] })
    const lines = await firstSteps(server)
    const [create, first] = lines
    for (const line of [create!, first!]) {
      const shell = await startProcess(t, { command: 'sh', args: ['-c', line] })
      await shell.exited
      assert.equal(shell.output().trim(), line === create ? 'OK' : '1')
    }
    const curl = lines.find((line) => line.startsWith('curl'))!
    const response = await fetch(curl.split(' ').at(-1)!, { method: 'POST' })
    assert.deepEqual(await response.json(), { ids: ['2'] })
    assert.equal((await fetch(lines.at(-1)!)).status, 200)
  })

  test('on a terminal prints lines for people, without colours where NO_COLOR is set', async (t) => {
    const port = await freePort()
    const serve = `"${process.execPath}" "${entry}" serve --engine memory: --resp off --http 127.0.0.1:${port}`
    const terminal = (env: Record<string, string>) =>
      startProcess(t, {
        // Node shows no colours where CI is set, whatever the terminal.
        command: 'env',
        args: ['-u', 'CI', 'script', '-qefc', serve, '/dev/null'],
        env: { TERM: 'xterm-256color', ...env },
        readyWhen: { line: /\/v1\/generators\/order\/next/ },
      })
    const plain = await terminal({ NO_COLOR: '1' })
    assert.match(plain.output(), /INFO: fahao .* is ready/)
    assert.match(plain.output(), /an id, over HTTP +curl -X POST/)
    assert.ok(!plain.output().includes('\u001b['))
    await plain.kill()
    const colourful = await terminal({})
    assert.ok(colourful.output().includes('\u001b['))
  })

  test('reads fahao.yaml in the working directory, and warns of an engine that forgets, and of tables without a proxy', async (t) => {
    const cwd = temporaryFolder(t)
    writeFileSync(
      join(cwd, 'fahao.yaml'),
      'http: off\nresp: 127.0.0.1:0\nengine: "memory:"\ntable: shop.orders.id=order\n',
    )
    const server = await startProcess(t, {
      command: process.execPath,
      args: [entry, 'serve'],
      cwd,
      readyWhen: { line: /is ready/ },
    })
    assert.match(server.output(), /"resp":"127\.0\.0\.1:[1-9]\d*"/)
    assert.match(server.output(), /"level":"warn",.*memory: forgets every generator and what it has issued/)
    assert.match(server.output(), /"level":"warn",.*no MySQL proxy fills in the tables/)
    assert.ok(!existsSync(join(cwd, 'data')))
  })

  test('a port that is taken, a store that is none, a config that is refused: one sentence, and nothing left open', async (t) => {
    const server = await startFahao(t)
    const resp = `127.0.0.1:${server.resp}`
    const folder = temporaryFolder(t)
    const text = join(folder, 'text.db')
    writeFileSync(text, 'this is no database, however long it may be '.repeat(100))
    mkdirSync(join(folder, 'folder.db'))
    const cases: [args: string[], code: number, message: RegExp][] = [
      [['--engine', 'memory:', '--http', 'off', '--resp', resp], 2, /EADDRINUSE/],
      [['--engine', 'memory:', '--resp', 'off', '--http', server.http.slice(7)], 2, /EADDRINUSE/],
      [['--resp', 'off', '--http', 'off'], 2, /nothing to serve/],
      [['--mysql-proxy', '127.0.0.1:3307'], 2, /no upstream: .*--upstream/],
      [
        [
          '--mysql-proxy',
          '127.0.0.1:0',
          '--upstream',
          'mysql://127.0.0.1:1',
          '--table',
          'shop.orders.id=order',
        ],
        2,
        /upstream has no user: .*mysql:\/\/USER:PASSWORD@HOST/,
      ],
      [
        ['--engine', 'oracle://127.0.0.1/ids', '--resp', '127.0.0.1:0', '--http', 'off'],
        2,
        /no engine for 'oracle'/,
      ],
      [['--engine', `sqlite:${text}`, '--resp', '127.0.0.1:0', '--http', 'off'], 1, /ENGINE .*text\.db/],
      [
        ['--engine', `sqlite:${join(folder, 'folder.db')}`, '--resp', '127.0.0.1:0', '--http', 'off'],
        1,
        /ENGINE/,
      ],
      [['--resp', '0.0.0.0:0'], 2, /--insecure/],
      [['--lead', 'long'], 2, /--lead: 'long'/],
      [['--config', 'nowhere.yaml'], 2, /no config file nowhere\.yaml/],
      [['--config', folder], 2, /cannot be read/],
    ]
    for (const [args, code, message] of cases) {
      const refused = await fahao(t, ['serve', ...args])
      assert.equal(refused.code, code, `${args.join(' ')}: ${refused.stderr}`)
      assertSentence(refused.stderr, message)
    }
  })

  test('a generator of the file that differs from the stored one stops the start, and says in what', async (t) => {
    const server = await startFahao(t)
    await asking(t, server)('create', 'order', '--kind', 'segment')
    await server.kill('SIGTERM')
    const config = join(temporaryFolder(t), 'f.yaml')
    writeFileSync(config, 'generators: { order: { kind: sequence } }')
    const refused = await fahao(t, [
      'serve',
      '--config',
      config,
      '--engine',
      server.engine,
      '--http',
      'off',
      '--resp',
      '127.0.0.1:0',
    ])
    assert.equal(refused.code, 2)
    assertSentence(refused.stderr, /CONFIG .*'order'.*segment.*sequence/)
  })
})

test('a bug ends the process at once, and says so in the log', async (t) => {
  for (const bug of ["throw new Error('a bug')", "Promise.reject(new Error('a bug'))"]) {
    const preload = encodeURIComponent(`process.on('SIGUSR2', () => { ${bug} })`)
    const server = await startFahao(t, { env: { NODE_OPTIONS: `--import=data:text/javascript,${preload}` } })
    assert.deepEqual(await server.kill('SIGUSR2'), { code: 1, signal: null })
    const line = logOf(server).find(({ level }) => level === 'error')
    assert.equal((line!.err as { message: string }).message, 'a bug')
  }
})
