import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LoggedIn, Login } from '../../../src/proxy/login.ts'
import type { MysqlError } from '../../../src/proxy/protocol.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { answerHead, greeting } from './obedient-server.ts'

const ssl = 0x0800

const password = Buffer.from('user\0\x06secretplugin\0')
const switched = Buffer.from([0xfe, ...Buffer.from('other plugin\0')])
const ok = Buffer.from([0, 0, 0, 2, 0, 0, 0])

/** A login, and what it sends to each side; TLS is set up at once. */
function start(offersTls: boolean, isUpstreamTls: boolean) {
  const toClient: Buffer[] = []
  const toServer: Buffer[] = []
  const refusals: MysqlError[] = []
  const sessions: LoggedIn[] = []
  const login: Login = new Login({
    offersTls,
    isUpstreamTls,
    toClient: (bytes) => void toClient.push(Buffer.from(bytes)),
    toServer: (bytes) => void toServer.push(Buffer.from(bytes)),
    secureClient: (rest) => {
      assert.equal(rest.length, 0)
      login.clientIsSecure()
    },
    secureServer: () => login.serverIsSecure(),
    refuse: (_sequence, error) => void refusals.push(error),
    end: () => assert.fail('the server refuses nothing here'),
    begin: (session) => void sessions.push(session),
  })
  login.fromServer(greeting({ offersTls: true }))
  return { login, toClient, toServer, refusals, sessions }
}

/** The numbers of packets. */
const numbers = (packets: readonly Buffer[]) => packets.map((packet) => packet[3])

describe('a login', () => {
  for (const isClientTls of [false, true])
    for (const isUpstreamTls of [false, true]) {
      const sides = `TLS ${isClientTls ? 'to' : 'not to'} the client and ${isUpstreamTls ? 'to' : 'not to'} the server`
      test(`with ${sides} gives each side numbers without gaps`, () => {
        const { login, toClient, toServer, sessions } = start(isClientTls, isUpstreamTls)
        let [client, server] = [1, 2]
        if (isClientTls) login.fromClient(packetOf(answerHead(ssl), client++))
        login.fromClient(packetOf(Buffer.concat([answerHead(isClientTls ? ssl : 0), password]), client))
        if (isUpstreamTls) server++
        login.fromServer(packetOf(switched, server))
        login.fromClient(packetOf(Buffer.from('proof'), client + 2))
        login.fromServer(packetOf(ok, server + 2))
        assert.deepEqual(numbers(toClient), [0, client + 1, client + 3])
        assert.deepEqual(numbers(toServer), isUpstreamTls ? [1, 2, 4] : [1, 3])
        assert.equal(sessions.length, 1)
      })
    }

  test('without TLS is refused where clients have to have it, and its password goes nowhere', () => {
    const { login, toServer, refusals } = start(true, false)
    login.fromClient(packetOf(Buffer.concat([answerHead(0), password]), 1))
    assert.deepEqual(
      refusals.map(({ code }) => code),
      [3159],
    )
    assert.deepEqual(toServer, [])
  })

  test('keeps a command behind it back until the server has accepted it', () => {
    const { login, toServer, sessions } = start(false, false)
    const command = packetOf(commandOf(3, "INSERT INTO orders (item) VALUES ('x')"))
    login.fromClient(Buffer.concat([packetOf(Buffer.concat([answerHead(0), password]), 1), command]))
    assert.equal(toServer.length, 1)
    login.fromServer(packetOf(ok, 2))
    assert.equal(toServer.length, 1)
    assert.deepEqual(
      sessions.map(({ fromClient }) => fromClient),
      [command],
    )
  })
})
