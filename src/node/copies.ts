/** How a node notices that its memory may exist twice. See base/copy-detector.ts. */
import type { Clock } from '../base/clock.ts'
import { CopyDetector } from '../base/copy-detector.ts'
import type { LogEvent } from '../base/events.ts'
import { vmGeneration } from './vm-generation.ts'

/** What a node's copy detector takes from its node. */
export type CopiesOptions = {
  readonly clock: Clock
  /** Drops all that the node has reserved, before it returns. */
  readonly drop: () => void
  readonly onEvent: (event: LogEvent) => void
}

/** The copy detector of a node: clocks, process id, and the generation of the virtual machine where that can be read. */
export function detectCopies({ clock, drop, onEvent }: CopiesOptions): CopyDetector {
  const generation = vmGeneration()
  const processId = { name: 'the process id', read: () => process.pid }
  return new CopyDetector({
    clock,
    marks: generation === undefined ? [processId] : [processId, generation],
    onCopy(reason) {
      drop()
      const message = `the memory of this node may exist twice, as after a resumed snapshot (${reason}): what it had reserved is dropped`
      onEvent({ level: 'warn', message })
    },
  })
}
