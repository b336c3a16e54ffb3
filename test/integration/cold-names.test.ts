/** Pipelines of names that are not open yet: one server, several connections. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'

const scope = new Scope()
let fahao: FahaoServer
before(async () => {
  fahao = await startFahao(scope, { args: ['--auto-create', 'n*=sequence', '--auto-create', 's*=segment'] })
})
after(() => scope.end())

const commands = [
  (name: string) => `INCR ${name}`,
  (name: string) => `ID.NEXT ${name}`,
  (name: string) => `INCRBY ${name} 3`,
]

/** The replies. */
async function ask(requests: readonly string[]): Promise<string[]> {
  const client = await RawClient.connect(fahao.resp)
  client.send(Buffer.concat([...requests, 'QUIT'].map((request) => encodeCommand(request.split(' ')))))
  const text = await client.readToEnd()
  return text.match(/^:\d+|^\$\d+\r\n\d+|^-.*/gm)!
}

test('ids of each name are in the order of the requests, by any command and on any connection', async () => {
  const connections = Array.from({ length: 8 }, (_, connection) =>
    Array.from({ length: 200 }, (_, index) => {
      const name = `${index % 2 === 0 ? 'n' : 's'}${(index * 7 + connection) % 40}`
      return commands[(index + connection) % commands.length]!(name)
    }),
  )
  const replies = await Promise.all(connections.map(ask))
  const issued = new Set<string>()
  for (const [connection, requests] of connections.entries()) {
    const newest = new Map<string, number>()
    for (const [index, request] of requests.entries()) {
      const [command, name] = request.split(' ') as [string, string]
      const last = Number(/\d+$/.exec(replies[connection]![index]!)![0])
      const first = command === 'INCRBY' ? last - 2 : last
      assert.ok(first > (newest.get(name) ?? 0), `${request}: ${first} after ${newest.get(name)}`)
      newest.set(name, last)
      for (let id = first; id <= last; id++) {
        assert.ok(!issued.has(`${name} ${id}`), `${name} issued ${id} twice`)
        issued.add(`${name} ${id}`)
      }
    }
  }
})

test('a name without a generator fails alone, and the others of its pipeline are created', async () => {
  const replies = await ask(['INCR n-a', 'INCR absent', 'INCR n-b', 'ID.NEXT n-a', 'INCR absent', 'INCR n-b'])
  assert.deepEqual(
    replies.map((reply) => /^-\w+|\d+$/.exec(reply)![0]),
    ['1', '-NOGENERATOR', '1', '2', '-NOGENERATOR', '2'],
  )
})
