/**
 * One client that pulls ids, in a process of its own: what it measures are waits of a client, not the
 * pauses of a test that has much else to do. Started with the ports of a cluster and what to ask for.
 */
import { FollowingLoad } from './cluster-load.ts'
import type { Pulled } from './pulled.ts'

const [ports, generator, ...command] = process.argv.slice(2)
const load = new FollowingLoad({ after() {} }, JSON.parse(ports!))
load.start([{ generator: generator!, command }])
process.once('message', async () => {
  await load.stop()
  const { waits, errorTexts, redirects, longestChase, lostLinks } = load
  const pulled: Pulled = {
    replies: [...load.journal(generator!).replies],
    waits,
    errors: [...errorTexts.values()],
    redirects,
    longestChase,
    lostLinks,
  }
  process.send!(pulled, () => process.disconnect())
})
