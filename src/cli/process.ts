/** One of the processes of `serve --processes`: a node with the configuration that the one above sends it. */
import type { Config } from '../node/config.ts'
import { exitCodeAfter } from './exit-codes.ts'
import { runServer } from './server.ts'

process.once('message', (config: Config) => {
  // The one above has fallen: as if it had said stop.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // What is served keeps this process alive, not the channel.
  process.channel!.unref()
  void serve(config)
})

async function serve(config: Config): Promise<void> {
  // Nobody may be left to hear it.
  process.exitCode = await exitCodeAfter(() => runServer(config, () => process.send!('ready', () => {})))
}
