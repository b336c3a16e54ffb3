/** The server's log: JSON for machines, lines for people at a terminal. */
import { type Logger, pino, stdTimeFunctions } from 'pino'
import type { Config } from '../config/config-schema.ts'
import { packageOf } from '../installation/packages.ts'

/** Bytes of lines that wait for room on the disk; further lines are dropped. */
const pendingBytesMax = 1_048_576

/** Opens the log on stdout. Each line is written before the call returns, so that a crash loses none. */
export async function openLog(level: Config['logLevel']): Promise<Logger> {
  const pretty = process.stdout.isTTY
    ? await packageOf('pino-pretty', import('pino-pretty')).catch((error: Error) => error.message)
    : 'for machines'
  if (typeof pretty === 'string') {
    const formatters = { level: (label: string) => ({ level: label }) }
    const lines = pino.destination({ dest: 1, sync: true, maxLength: pendingBytesMax })
    lines.on('error', dropLines)
    const log = pino({ level, formatters, timestamp: stdTimeFunctions.isoTime }, lines)
    if (process.stdout.isTTY) log.info(`log lines are JSON, because ${pretty}`)
    return log
  }
  const colorize = process.stdout.hasColors()
  const lines = pretty.default({
    colorize,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    sync: true,
  })
  lines.on('error', dropLines)
  return pino({ level }, lines)
}

/** Drops lines that cannot be written, on a full disk for example: issuing continues. */
function dropLines(): void {}
