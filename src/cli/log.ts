/** The server's log: JSON for machines, lines for people at a terminal. */
import { type Logger, pino, stdTimeFunctions } from 'pino'
import type { Config } from '../node/config.ts'

/** Opens the log on stdout. Each line is written before the call returns, so that a crash loses none. */
export async function openLog(level: Config['logLevel']): Promise<Logger> {
  if (!process.stdout.isTTY) {
    const formatters = { level: (label: string) => ({ level: label }) }
    return pino({ level, formatters, timestamp: stdTimeFunctions.isoTime })
  }
  const { default: pretty } = await import('pino-pretty')
  const colorize = process.stdout.hasColors()
  return pino(
    { level },
    pretty({ colorize, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname', sync: true }),
  )
}
