/** One stream of events, from its opening to its end. */
import type { ClientDuplexStream } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import type { KeyValue, WatchRequest, WatchResponse } from './api.ts'

/** The keys to watch, and the first revision. */
export type WatchRange = { readonly key: Buffer; readonly rangeEnd: Buffer; readonly startRevision: string }

/** The callbacks of a stream. */
export type WatchEvents = {
  /** Called once the watch has begun. */
  readonly onCreated: () => void
  /** Called with each change; `record` is undefined if the key was removed at `revision`. */
  readonly onChange: (key: Buffer, revision: bigint, record: KeyValue | undefined) => void
}

/** Short against a hand-over that waits for the stream; a message per second costs little. */
const askEveryMs = 1000
/** A member that has not answered for this long counts as frozen. */
const silentMs = 3000
const removed = 1

/**
 * Follows the stream; resolves to the reason of its end: by etcd, by `signal`, or because etcd stopped answering.
 * An answer to a progress request only shows that etcd answers: etcd before 3.4.25 and 3.5.8 may send a
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
