/** Something that a log should say. */
export type LogEvent = {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  /** The parts of the message, for logs that machines read. */
  readonly fields?: Readonly<Record<string, string | number>>
}
