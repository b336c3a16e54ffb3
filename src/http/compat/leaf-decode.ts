/** `/decodeSnowflakeId`: decodes a Leaf snowflake id, in the time zone of this process, as Leaf does. */
import { layouts } from '../../ids/presets.ts'
import { anyMethod, type CompatRoute, parameterOf } from './api.ts'
import { contentTypes, missingParameter } from './spring.ts'

/** The route. It decodes ids of Leaf's layout only, independent of the generators. */
export const decodeRoute: CompatRoute = Object.freeze({
  methods: anyMethod,
  path: '/decodeSnowflakeId',
  issues: false,
  access: { command: 'id.decode' },
  async handler(request, reply) {
    const text = parameterOf(request, 'snowflakeId')
    if (text === undefined) throw missingParameter('String', 'snowflakeId')
    reply.header('content-type', contentTypes.json)
    const id = longOf(text)
    return JSON.stringify(id === undefined ? { errorMsg: 'snowflake Id反解析发生异常!' } : decoded(id))
  },
} satisfies CompatRoute)

const { timeShift, sequenceBits, epochUs } = layouts.leaf
const nodeShift = BigInt(sequenceBits)

/** Java's Long.parseLong. */
function longOf(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,400}$/.test(text)) return undefined
  const value = BigInt(text.replace('+', ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** The shifts keep the sign: Leaf decodes negative numbers too. */
function decoded(id: bigint): Record<'timestamp' | 'sequenceId' | 'workerId', string> {
  const time = id >> BigInt(timeShift)
  const upper = id >> nodeShift
  const unixMs = Number(time) + epochUs / 1000
  return {
    timestamp: `${unixMs}(${localText(new Date(unixMs))})`,
    sequenceId: String(id - (upper << nodeShift)),
    workerId: String(upper - (time << (BigInt(timeShift) - nodeShift))),
  }
}

function localText(date: Date): string {
  return `${localTime(date)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** `2019-09-06 09:35:00`, in the time zone of this process. */
export function localTime(date: Date): string {
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${day} ${time}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
