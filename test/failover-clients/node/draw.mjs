// Draws ids in a loop: a library, ADDRESSES (host:port,host:port) and the name of a generator. A line for each reply.
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'

const [library, addresses, name] = process.argv.slice(2)
const nodes = addresses
  .split(',')
  .map((each) => ({ host: each.split(':')[0], port: Number(each.split(':')[1]) }))

const client =
  library === 'ioredis'
    ? new Cluster(nodes)
    : createCluster({ rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })) })
client.on('error', () => {})
if (library !== 'ioredis') await client.connect()
for (;;) {
  try {
    console.log('id', await client.incr(name))
  } catch (error) {
    console.log('error', String(error).replaceAll('\n', ' '))
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
}
