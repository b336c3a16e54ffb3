/** A client in a process of its own, seen from the test: see puller.ts. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import type { Wait } from './cluster-load.ts'
import type { Acknowledged, Journal } from './journal.ts'

/** What a puller was told. */
export type Pulled = {
  readonly replies: readonly Acknowledged[]
  readonly waits: readonly Wait[]
  readonly errors: readonly string[]
  readonly redirects: number
  readonly longestChase: number
  readonly lostLinks: number
}

/** A puller at work. Its stop resolves to what it was told, and notes the replies down. */
export type Puller = { readonly stop: () => Promise<Pulled> }

const connection = -2

/** Starts one that asks a cluster for ids of one generator. */
export function startPuller(
  lifetime: Lifetime,
  ports: readonly number[],
  journal: Journal,
  ...words: [generator: string, ...command: string[]]
): Puller {
  const child = fork(join(import.meta.dirname, 'puller.ts'), [JSON.stringify(ports), ...words], {
    execArgv: [],
    serialization: 'advanced',
  })
  atEnd(lifetime, () => child.kill('SIGKILL'))
  return {
    async stop() {
      child.send('stop')
      const [told] = (await once(child, 'message')) as [Pulled]
      for (const { ids, sentUs, receivedUs } of told.replies)
        journal.add({ ids, sentUs, receivedUs, connection })
      return told
    },
  }
}
