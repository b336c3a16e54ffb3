/** What every engine takes when it is opened. */
import type { Clock } from '../base/clock.ts'
import type { LogEvent } from '../base/events.ts'

/** What an engine takes from its process. */
export type EngineOptions = {
  /** For deadlines and polling. */
  readonly clock: Clock
  /** Deadline of one call. */
  readonly callTimeoutMs: number
  /** Receives what a log should say: a failed write, a recovery, a store that went back. */
  readonly onEvent: (event: LogEvent) => void
  /**
   * Called when the engine has found lost writes, before the first call rejects with REGRESSED, and again while this
   * lasts and calls are made. A caller that can `advance` by itself does.
   */
  readonly onRegressed?: (reason: string) => void
  /**
   * Called when this process has accepted another process's advance: the records that it has read, and the ranges that it
   * holds by them, may be lost without its having noticed. May be called once too often, also after an own advance.
   */
  readonly onAdvanced?: () => void
  /** Called when this process no longer owns the store: issue no strict kind once this has returned. */
  readonly onOwnershipLost?: () => void
  /**
   * Whether to open servers whose settings may lose acknowledged writes in a crash, and files on a network file system.
   * Default: no; opening rejects with ENGINE and says what to do.
   */
  readonly unsafe?: boolean
  /** What to do if there is no store yet: `refuse` to create one (ENGINE), or create it and log it at this level. Default: info. */
  readonly newStore?: 'refuse' | 'warn' | 'info'
}
