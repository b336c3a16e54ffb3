/** One of the processes of `serve --processes`: a node with the configuration that the one above sends it. */
import type { Config } from '../node/config-schema.ts'
import { exitCodeAfter } from './exit-codes.ts'
import { runServer } from './server.ts'

const stop = new Promise<string>((resolve) => {
  process.once('disconnect', () => resolve('told by the process above'))
})

process.once('message', (config: Config) => {
  // What is served keeps this process alive, not the channel.
  process.channel?.unref()
  // Nobody may be left to hear it.
  const onReady = () => void process.send!('ready', () => {})
  void exitCodeAfter(() => runServer(config, { stop, onReady })).then((code) => {
    process.exitCode = code
  })
})
