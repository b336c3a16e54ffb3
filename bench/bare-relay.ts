/** A relay of bytes by node:net alone: `node bench/bare-relay.ts PORT UPSTREAM_PORT`, both on 127.0.0.1. */
import { connect, createServer, type Socket } from 'node:net'

const [port, upstreamPort] = process.argv.slice(2).map(Number)

createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: upstreamPort!, host: '127.0.0.1', noDelay: true })
  pass(client, upstream)
  pass(upstream, client)
}).listen(port, '127.0.0.1', () => console.log('ready'))

function pass(from: Socket, to: Socket): void {
  from.on('data', (bytes) => {
    if (to.write(bytes)) return
    from.pause()
    to.once('drain', () => from.resume())
  })
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
}
