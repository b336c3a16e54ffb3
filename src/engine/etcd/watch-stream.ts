/** One stream of events, from its opening to its end. */
import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import type { KeyValue, WatchRequest, WatchResponse } from './api.ts'

/** What to watch. */
export type WatchRange = { readonly key: Buffer; readonly rangeEnd: Buffer; readonly startRevision: string }

/** Who is told. */
export type WatchEvents = {
  /** etcd watches now. */
  readonly onCreated: () => void
  /** `record` is undefined when the key was removed, which happened at `revision`. */
  readonly onChange: (key: Buffer, revision: bigint, record: KeyValue | undefined) => void
}

/** Well below what somebody who waits for a hand-over would notice, and a message a second costs nothing. */
const askEveryMs = 1000
/** A member that owes an answer for this long is taken to be frozen. */
const silentMs = 3000
const removed = 1

/**
 * Follows the stream; resolves to the reason when it ends, by itself, by `signal`, or because etcd stopped answering.
 * Answers to the questions for progress are only a sign of life: etcd before 3.4.25 and 3.5.8 may answer with a
 * revision whose events are still to come.
 */
export function follow(
  stream: ClientDuplexStream<WatchRequest, WatchResponse>,
  range: WatchRange,
  events: WatchEvents,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve) => {
    let heardUs = clock.monoUs()
    let timer: Timer | undefined
    let over = false
    const end = (reason: string) => {
      if (over) return
      over = true
      timer?.cancel()
      signal.removeEventListener('abort', stop)
      stream.cancel()
      resolve(reason)
    }
    const stop = () => end('closed')
    const ask = () => {
      if (clock.monoUs() - heardUs > silentMs * 1000) return end('it stopped answering')
      stream.write({ progress: {} })
      timer = clock.timer(askEveryMs, ask)
    }
    stream.on('error', (error) => end(error.message))
    stream.on('end', () => end('it ended the stream'))
    stream.on('data', (response: WatchResponse) => {
      if (over) return
      heardUs = clock.monoUs()
      if (response.canceled) return end(response.cancelReason || 'it has compacted what comes next')
      if (response.created) events.onCreated()
      for (const { type, kv } of response.events)
        events.onChange(kv.key, BigInt(kv.modRevision), type === removed ? undefined : kv)
    })
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    stream.write({ create: range })
    timer = clock.timer(askEveryMs, ask)
  })
}
