/** Something that a log should say. */
export type LogEvent = {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
}
