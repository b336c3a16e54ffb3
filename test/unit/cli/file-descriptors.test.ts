import assert from 'node:assert/strict'
import { test } from 'node:test'
import { descriptorAdvice } from '../../../src/cli/file-descriptors.ts'
import { loadConfig } from '../../../src/config/load-config.ts'

function limits(openFiles: string): string {
  return [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             31337                31337                processes ',
    `Max open files            ${openFiles.padEnd(20)} 1048576              files     `,
    '',
  ].join('\n')
}

const load = (flags: Record<string, string> = {}) => loadConfig({ flags }).config

/** The default of one setting is given by another value of the same sum. */
const chosen = { 'resp-connections-max': '9999', 'http-connections-max': '10001' }

test('a limit on open files below what all connections and the store need is a warning', () => {
  assert.match(
    descriptorAdvice(load(chosen), limits('20255'))!,
    /may open 20255 files.* need 20256: raise LimitNOFILE/,
  )
  assert.equal(descriptorAdvice(load(chosen), limits('20256')), undefined)
})

test('a fresh machine gets no warning, unless it gives fewer files than servers have', () => {
  for (const usual of ['4096', '20000']) assert.equal(descriptorAdvice(load(), limits(usual)), undefined)
  assert.match(descriptorAdvice(load(), limits('4095'))!, /may open 4095 files/)
})

test('only listeners that are on need descriptors, and each of a compatible API as many as HTTP', () => {
  const one = load({ ...chosen, http: 'off' })
  assert.equal(descriptorAdvice(one, limits('10255')), undefined)
  const three = load({ ...chosen, 'compat-http': 'leaf=127.0.0.1:8080' })
  assert.match(descriptorAdvice(three, limits('30000'))!, /need 30257/)
  const all = load({
    ...chosen,
    postgres: '127.0.0.1:7432',
    'mysql-proxy': '127.0.0.1:3307',
    upstream: 'mysql://127.0.0.1:3306',
  })
  assert.match(
    descriptorAdvice(all, limits('50255'))!,
    /need 50256: .* or lower resp-connections-max, http-connections-max, postgres-connections-max, proxy-connections-max$/,
  )
  assert.equal(descriptorAdvice(all, limits('50256')), undefined)
})

test('there is no warning where the limit is not known, or there is none', () => {
  assert.equal(descriptorAdvice(load(), ''), undefined)
  assert.equal(descriptorAdvice(load(), limits('unlimited')), undefined)
})
