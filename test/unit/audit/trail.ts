/** An audit trail over an engine in memory, for tests that look at what was recorded. */
import { Audit } from '../../../src/audit/audit.ts'
import type { AuditEntry } from '../../../src/audit/audit-entry.ts'
import { readAuditPage } from '../../../src/audit/audit-reading.ts'
import type { LogEvent } from '../../../src/base/events.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'

/** The trail of a node, with its engine, its clock and the events of its log. */
export class Trail {
  readonly engine = new FaultyEngine(new MemoryEngine(new MemoryStore()))
  readonly clock = new FakeClock()
  readonly events: LogEvent[] = []
  readonly audit: Audit

  /** @param max the entries of each part. */
  constructor(max = 1000) {
    const { engine, clock, events } = this
    this.audit = new Audit({
      engine,
      clock,
      nowUs: () => clock.wallUs(),
      node: 'host:1',
      runId: 'f00',
      max,
      onEvent: (event) => events.push(event),
    })
  }

  /** Everything stored, newest first, a second later. */
  async stored(): Promise<readonly AuditEntry[]> {
    await this.clock.pass(1000)
    return (await readAuditPage(this.engine, { limit: 1000 })).entries
  }

  /** `drop order by alice`, oldest first. */
  async texts(): Promise<string[]> {
    return (await this.stored())
      .map(
        ({ event, object, user, count }) => `${event} ${object} by ${user}${count > 1 ? ` ×${count}` : ''}`,
      )
      .reverse()
  }
}
