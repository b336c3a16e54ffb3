/** Packages of npm that make ids in process. */
import { Snowflake as SapphireSnowflake } from '@sapphire/snowflake'
import { nanoid } from 'nanoid'
import { Snowflake as WasmSnowflake } from 'nodejs-snowflake'
import { monotonicFactory, ulid } from 'ulid'
import { v4, v7 } from 'uuid'

const sapphire = new SapphireSnowflake(0)
const wasm = new WasmSnowflake({ instance_id: 7 })
const monotonicUlid = monotonicFactory()
const bytes = new Uint8Array(16)

/** Each makes `count` ids in a loop of its own, which the compiler optimises like a caller's code, and returns the last. */
export const peers: Readonly<Record<string, (count: number) => unknown>> = {
  '@sapphire/snowflake, bigint (repeats ids beyond 4096 per ms)': (count) => {
    let last = 0n
    for (let index = 0; index < count; index++) last = sapphire.generate()
    return last
  },
  'nodejs-snowflake, bigint (wasm, waits beyond 1024 per ms)': (count) => {
    let last: unknown
    for (let index = 0; index < count; index++) last = wasm.getUniqueID()
    return last
  },
  ulid: (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = ulid()
    return last
  },
  'ulid, monotonic': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = monotonicUlid()
    return last
  },
  'uuid v4': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = v4()
    return last
  },
  'uuid v7': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = v7()
    return last
  },
  'uuid v7, 16 bytes into an array': (count) => {
    for (let index = 0; index < count; index++) v7(undefined, bytes)
    return bytes[15]
  },
  'crypto.randomUUID': (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = crypto.randomUUID()
    return last
  },
  nanoid: (count) => {
    let last = ''
    for (let index = 0; index < count; index++) last = nanoid()
    return last
  },
}
