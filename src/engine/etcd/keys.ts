/** The keys of a store. Each ends with a name, as bytes of its UTF-8. */

/** The keys of one store. */
export class Keys {
  /** The prefix of every key of the store. */
  readonly all: Buffer
  readonly state: Buffer
  /** The time of the store's last write. */
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

  /** The key of a record, or the prefix of several. */
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
