import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settings } from '../../../src/config/config-schema.ts'
import { type ConfigInputs, loadConfig, settingsText } from '../../../src/config/load-config.ts'
import { speaksTls } from '../../../src/listening/listener-tls.ts'

function refusal(inputs: ConfigInputs): string {
  try {
    loadConfig(inputs)
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'CONFIG')
    return (error as Error).message
  }
  return assert.fail('it was not refused')
}

function fromFile(text: string, more: Omit<ConfigInputs, 'readFile'> = {}): ConfigInputs {
  return { ...more, readFile: (path) => (path === 'fahao.yaml' ? text : undefined) }
}

describe('the source of a value', () => {
  const file = 'call-timeout: 1s\nlead-max: 2h'

  test('flags go before the environment, the environment before the file, the file before defaults', () => {
    const env = { FAHAO_CALL_TIMEOUT: '2s' }
    const flags = { 'call-timeout': '3s' }
    const found = [{}, fromFile(file), fromFile(file, { env }), fromFile(file, { env, flags })].map(
      (inputs) => {
        const { config, sources } = loadConfig(inputs)
        return [config.callTimeoutMs, sources.callTimeoutMs]
      },
    )
    assert.deepEqual(found, [
      [5000, 'default'],
      [1000, 'fahao.yaml:1:1'],
      [2000, 'FAHAO_CALL_TIMEOUT'],
      [3000, '--call-timeout'],
    ])
  })

  test('each setting has its own source', () => {
    const { config, sources } = loadConfig(fromFile(file, { flags: { 'call-timeout': '3s' } }))
    assert.deepEqual([config.callTimeoutMs, config.leadMaxMs], [3000, 7_200_000])
    assert.equal(sources.leadMaxMs, 'fahao.yaml:2:1')
  })

  test('an empty variable and a key without a value count as absent', () => {
    const { sources } = loadConfig(fromFile('lead-max:\nhttp: off', { env: { FAHAO_HTTP: '' } }))
    assert.deepEqual([sources.leadMaxMs, sources.http], ['default', 'fahao.yaml:2:1'])
  })

  test('--config and FAHAO_CONFIG name the file, the flag first', () => {
    const readFile = (path: string) => `lead-max: ${path === 'a' ? '1h' : '2h'}`
    const read = (inputs: ConfigInputs) => loadConfig({ ...inputs, readFile }).sources.leadMaxMs
    assert.equal(read({ flags: { config: 'a' }, env: { FAHAO_CONFIG: 'b' } }), 'a:1:1')
    assert.equal(read({ env: { FAHAO_CONFIG: 'b' } }), 'b:1:1')
  })

  test('a named file must exist, the default file need not', () => {
    assert.match(
      refusal({ flags: { config: 'x.yaml' }, readFile: () => undefined }),
      /no config file x\.yaml/,
    )
    loadConfig({ readFile: () => undefined })
  })
})

describe('values', () => {
  test('mean the same from every source', () => {
    const given: Record<string, string> = {
      engine: 'memory:',
      resp: '127.0.0.1:1',
      http: 'off',
      insecure: 'on',
      'auto-create': 'a:*=sequence b=segment',
      'worker-id': 'static:7',
      'node-index': '3',
      lead: '90s',
      'incrby-max': '1000000000000000000',
      'rounding-guard': 'off',
      'resp-bulk-max': '1MiB',
      'resp-idle-timeout': '5m',
      'http-names': 'ids.example.org',
    }
    const env = Object.fromEntries(settings.map(({ name, variable }) => [variable, given[name]]))
    const file = Object.entries(given).map(([name, value]) => `${name}: '${value}'\n`)
    const { config } = loadConfig({ flags: given })
    assert.deepEqual(loadConfig({ env }).config, config)
    assert.deepEqual(loadConfig(fromFile(file.join(''))).config, config)
    const shown = Object.fromEntries(settingsText(config))
    for (const [name, value] of Object.entries(given)) assert.equal(shown[name], value)
    assert.deepEqual(loadConfig({ flags: shown }).config, config)
  })

  test('of defaults are in the shown form', () => {
    const shown = Object.fromEntries(settingsText(loadConfig({}).config))
    for (const { name, defaultText } of settings) {
      if (name !== 'lead') assert.equal(shown[name], defaultText)
    }
  })

  test('are typed, in the unit at the end of the name', () => {
    const { config } = loadConfig({
      flags: {
        'resp-bulk-max': '1MiB',
        resp: '[::1]:80',
        'worker-id': 'env:POD',
        'resp-idle-timeout': 'off',
      },
    })
    assert.equal(config.respBulkMaxBytes, 1_048_576)
    assert.deepEqual(config.resp, { host: '::1', port: 80 })
    assert.deepEqual(config.workerId, { by: 'env', value: 'POD' })
    assert.equal(config.respIdleTimeoutMs, Number.POSITIVE_INFINITY)
    assert.equal(loadConfig({ flags: { http: 'off' } }).config.http, undefined)
    assert.equal(config.incrbyMax, 10n ** 12n)
  })

  test('of an index keep the zeros in front from every source, for they are its width', () => {
    const found = [
      loadConfig({ flags: { 'node-index': '01' } }),
      loadConfig({ env: { FAHAO_NODE_INDEX: '01' } }),
      loadConfig(fromFile('node-index: 01')),
      loadConfig(fromFile("node-index: '01'")),
    ]
    for (const { config } of found) {
      assert.deepEqual(config.nodeIndex, { value: 1, width: 2 })
      assert.equal(Object.fromEntries(settingsText(config))['node-index'], '01')
    }
  })

  test('that can be repeated come as flags, as a list, or separated by white space', () => {
    const rules = [
      { pattern: 'a=*', kind: 'sequence' },
      { pattern: 'b', kind: 'snowflake' },
    ]
    const found = [
      loadConfig({ flags: { 'auto-create': ['a=*=sequence', 'b=snowflake'] } }),
      loadConfig({ env: { FAHAO_AUTO_CREATE: 'a=*=sequence  b=snowflake' } }),
      loadConfig(fromFile("auto-create: ['a=*=sequence', b=snowflake]")),
    ]
    for (const { config } of found) assert.deepEqual(config.autoCreate, rules)
  })

  test('of auto-create has every option of a generator, also as a map of a file', () => {
    const invoice = {
      pattern: 'invoice:{tenant}',
      kind: 'sequence',
      options: { gaps: 'none', period: 'month', format: 'A,B {{x}}/{date:yyyyMM}-{tenant}-{id}' },
    }
    const spaced = { ...invoice, options: { ...invoice.options, format: 'No {tenant}/{date:yyyyMM}-{id}' } }
    const words =
      'invoice:{tenant}=sequence,gaps=none,period=month,format=A,B{{x}}/{date:yyyyMM}-{tenant}-{id}'
    const { config } = loadConfig({ flags: { 'auto-create': `${words} o:*=segment,step-max=5,step=1` } })
    assert.deepEqual(config.autoCreate, [
      { ...invoice, options: { ...invoice.options, format: 'A,B{{x}}/{date:yyyyMM}-{tenant}-{id}' } },
      { pattern: 'o:*', kind: 'segment', options: { stepMax: '5', step: '1' } },
    ])
    const text = Object.fromEntries(settingsText(config))['auto-create']!
    assert.deepEqual(loadConfig({ flags: { 'auto-create': text } }).config.autoCreate, config.autoCreate)
    const file = `auto-create:
  - a:*=sequence
  - { pattern: 'invoice:{tenant}', kind: sequence, gaps: none, period: month, format: 'No {tenant}/{date:yyyyMM}-{id}' }`
    assert.deepEqual(loadConfig(fromFile(file)).config.autoCreate, [
      { pattern: 'a:*', kind: 'sequence' },
      spaced,
    ])
  })

  test('lead is ten minutes for a pooled worker id, two minutes for a fixed one', () => {
    assert.equal(loadConfig({}).config.leadMs, 600_000)
    assert.equal(loadConfig({ flags: { 'worker-id': 'hostname' } }).config.leadMs, 120_000)
    assert.equal(loadConfig({ flags: { 'worker-id': 'hostname', lead: '1m' } }).config.leadMs, 60_000)
  })

  test('cannot be changed afterwards', () => {
    const { config } = loadConfig({ flags: { 'auto-create': 'a=sequence' } })
    assert.throws(() => Object.assign(config, { engine: 'memory:' }), TypeError)
    assert.throws(() => Object.assign(config.resp!, { port: 1 }), TypeError)
    assert.throws(() => Object.assign(config.autoCreate[0]!, { kind: 'segment' }), TypeError)
  })
})

describe('a refused value', () => {
  const wrong: [flag: string, value: string, message: RegExp][] = [
    ['engine', '', /--engine/],
    ['resp', '7379', /no address; write HOST:PORT/],
    ['resp', '127.0.0.1:65536', /no address/],
    ['resp', '::1:7379', /no address/],
    ['log-level', 'loud', /none of trace, debug, info/],
    ['worker-id', 'ip', /use static:N, env:NAME, hostname/],
    ['worker-id', 'static:65536', /from 0 to 65535/],
    ['node-index', '-1', /no whole number from 0/],
    ['lead', '1ms', /out of range; give 1s to 24h/],
    ['lead', '10 minutes', /not a duration such as/],
    ['call-timeout', '0s', /out of range/],
    ['lease-ttl', '5', /'5' has no unit; write 5s, or another duration from 100ms to 10m$/],
    ['resp-idle-timeout', '9', /'9' has no unit; write 9s/],
    ['lead', '0', /out of range/],
    ['count-max', '0', /from 1 to/],
    ['incrby-max', '1e12', /no whole number/],
    ['incrby-max', '1000000000000000001', /from 1 to/],
    ['rounding-guard', 'perhaps', /'perhaps' is none of strict, known, off/],
    ['resp-bulk-max', '1', /out of range; give 1KiB/],
    ['resp-bulk-max', '64KB', /not a size such as/],
    ['auto-create', 'order', /write PATTERN=KIND/],
    ['auto-create', 'order=serial', /with one of sequence, segment/],
    ['auto-create', 'o:*=segment,stpe=1', /rule 'o:\*': unknown option 'stpe'; did you mean step\?/],
    ['auto-create', 'o:*=segment,step=1,step=2', /step is given twice/],
    ['auto-create', 'o:*=segment,gaps=none', /rule 'o:\*': /],
    ['auto-create', 'o:*=segment,format={tenant}-{id}', /give a template of names too/],
    ['auto-create', 'o:{tenant}:*=segment', /has no other wildcard/],
    ['auto-create', 'o:*=sequence,family=on', /leave family and template out/],
  ]
  for (const [flag, value, message] of wrong) {
    test(`names its flag and a valid value: --${flag} '${value}'`, () => {
      const said = refusal({ flags: { [flag]: value } })
      assert.match(said, new RegExp(`^--${flag}: `))
      assert.match(said, message)
    })
  }

  test('names its variable, or its line and column', () => {
    assert.match(refusal({ env: { FAHAO_LEAD: 'x' } }), /^FAHAO_LEAD: /)
    assert.match(refusal(fromFile('engine: x\n\nlead: x')), /^fahao\.yaml:3:1: lead: /)
  })

  test('does not hide other refused values', () => {
    const said = refusal({ flags: { lead: 'x', resp: 'y' } })
    assert.match(said, /--resp: .*; --lead: /)
  })

  test('is one line, however long the value', () => {
    const said = refusal({ flags: { 'worker-id': 'x'.repeat(10_000), 'log-level': 'y'.repeat(10_000) } })
    assert.ok(said.length < 500)
    assert.ok(!said.includes('\n'))
  })

  test('may be a list for a single value, or a single value for a list', () => {
    assert.match(refusal(fromFile('resp: [a, b]')), /wants a single value/)
    assert.match(refusal(fromFile('auto-create: { a: sequence }')), /a list of texts/)
  })
})

describe('unknown names', () => {
  test('in the file are refused, with the nearest known name', () => {
    assert.match(
      refusal(fromFile('engine: x\nled-max: 1h')),
      /^fahao\.yaml:2:1: .*'led-max'; did you mean 'lead-max'/,
    )
    assert.match(refusal(fromFile('callTimeout: 1s')), /did you mean 'call-timeout'/)
    assert.match(refusal(fromFile('generator: {}')), /did you mean 'generators'/)
    assert.match(refusal(fromFile('colour: a')), /`fahao config` lists/)
  })

  test('in the environment are refused only if misspelled: Kubernetes sets variables of its own', () => {
    assert.match(refusal({ env: { FAHAO_LOGLEVEL: 'info' } }), /did you mean FAHAO_LOG_LEVEL/)
    assert.match(refusal({ env: { FAHAO_RSEP: 'off' } }), /did you mean FAHAO_RESP/)
    loadConfig({
      env: {
        FAHAO_SERVICE_HOST: '10.0.0.1',
        FAHAO_SERVICE_PORT: '7379',
        FAHAO_PORT: 'tcp://10.0.0.1:7379',
        FAHAO_PORT_7379_TCP_ADDR: '10.0.0.1',
        FAHAO_RESP_PORT: 'tcp://10.0.0.1:7379',
        FAHAO_HTTP_SERVICE_HOST: '10.0.0.1',
        FAHAO_URL: 'http://127.0.0.1:7380',
      },
    })
  })
})

describe('TLS', () => {
  const files = { 'tls-cert': 'cert.pem', 'tls-key': 'key.pem' }

  test('is spoken by the listeners that are named, if there is a certificate', () => {
    const spoken = (flags: Record<string, string>) => {
      const { config } = loadConfig({ flags })
      return [speaksTls(config, 'resp'), speaksTls(config, 'http')]
    }
    assert.deepEqual(spoken({}), [false, false])
    assert.deepEqual(spoken(files), [true, true])
    assert.deepEqual(spoken({ ...files, 'tls-on': 'resp' }), [true, false])
    assert.deepEqual(spoken({ ...files, 'tls-on': 'http,resp' }), [true, true])
    assert.match(refusal({ flags: { ...files, 'tls-on': 'grpc' } }), /'grpc' is none of resp, http/)
    assert.match(refusal({ flags: { ...files, 'tls-on': '' } }), /names none of resp, http/)
  })

  test('has versions and suites that can be chosen, and refuses what names none', () => {
    const { config } = loadConfig({
      flags: { 'tls-protocols': 'TLSv1.3', 'tls-ciphers': 'AES128-SHA, ECDHE+AESGCM:!RC4' },
    })
    assert.deepEqual([config.tlsProtocols, config.tlsCiphers], [['TLSv1.3'], 'AES128-SHA:ECDHE+AESGCM:!RC4'])
    assert.equal(loadConfig({ flags: {} }).config.tlsCiphers, 'ECDHE+AESGCM:ECDHE+CHACHA20')
    for (const [flags, message] of [
      [{ 'tls-protocols': 'TLSv1.1' }, /^--tls-protocols: 'TLSv1.1' is none of TLSv1.2, TLSv1.3/],
      [
        { 'tls-ciphers': 'ECDHE+AESGCM:ECDHE+AEGCM' },
        /^--tls-ciphers: 'ECDHE\+AEGCM' names no suite of TLS 1\.2/,
      ],
      [
        { 'tls-ciphers': 'TLS_AES_128_GCM_SHA256' },
        /^--tls-ciphers: .* is a suite of TLS 1\.3, all of which/,
      ],
      [{ 'tls-ciphers': 'ECDHE+AESGCM:!ECDHE' }, /^--tls-ciphers: .* leaves no suite of TLS 1\.2; name one/],
    ] as const) {
      assert.match(refusal({ flags }), message)
    }
  })

  test('is refused if a file is missing in the configuration, with its name', () => {
    for (const [flags, message] of [
      [{ 'tls-cert': 'cert.pem' }, /^--tls-cert: .* name its file with tls-key$/],
      [{ 'tls-key': 'key.pem' }, /^--tls-key: tls-key has no effect .* tls-cert$/],
      [{ 'tls-ca': 'ca.pem' }, /^--tls-ca: tls-ca has no effect .* tls-cert$/],
      [{ 'tls-client-auth': 'required' }, /^--tls-client-auth: .* no effect .* tls-cert$/],
      [{ ...files, 'tls-client-auth': 'optional' }, /^--tls-client-auth: .* name their file with tls-ca$/],
    ] as const) {
      assert.match(refusal({ flags }), message)
    }
  })
})

test('the password of an engine is in no shown setting', () => {
  const shown = (engine: string) =>
    new Map(settingsText(loadConfig({ flags: { engine } }).config)).get('engine')
  assert.equal(shown('mysql://ids:p@ss:word@db.example/ids?a=1'), 'mysql://ids:***@db.example/ids?a=1')
  assert.equal(
    shown('postgres://ids@db.example/ids?password=word&a=1'),
    'postgres://ids@db.example/ids?password=***&a=1',
  )
  assert.equal(shown('sqlite:./a:b@c.db'), 'sqlite:./a:b@c.db')
})
