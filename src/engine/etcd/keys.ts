/** Under which keys a store keeps what. Names are bytes of their UTF-8, and stand at the end. */

/** The keys of one store. */
export class Keys {
  /** Every key of the store begins with it. */
  readonly all: Buffer
  readonly state: Buffer
  /** When the store was written to. */
  readonly written: Buffer
  readonly counters: Buffer
  readonly records: Buffer

  constructor(prefix: string) {
    this.all = Buffer.from(`${prefix}/`)
    this.state = Buffer.from(`${prefix}/state`)
    this.written = Buffer.from(`${prefix}/written`)
    this.counters = Buffer.from(`${prefix}/counters/`)
    this.records = Buffer.from(`${prefix}/records/`)
  }

  /** The key of a counter. */
  counter(name: string): Buffer {
    return Buffer.concat([this.counters, Buffer.from(name)])
  }

  /** The key of a record, or the beginning of the keys of several. */
  record(key: string): Buffer {
    return Buffer.concat([this.records, Buffer.from(key)])
  }

  /** The name of the counter that has this key. */
  counterOf(key: Buffer): string {
    return key.subarray(this.counters.length).toString()
  }

  /** The name of the record that has this key. */
  recordOf(key: Buffer): string {
    return key.subarray(this.records.length).toString()
  }
}
