/** Redis Cluster's slots, and the shards that they are split into: contiguous runs of nearly equal length. */

/** How many slots there are: Redis Cluster's number. */
export const slotCount = 16_384
/** The most shards that an installation may have: each is a record that every node looks at all the time. */
export const shardsMax = 1024

/** A run of slots, both ends included, as Redis writes them. */
export type SlotRun = { readonly first: number; readonly last: number }

/** The slots of a shard. */
export function slotsOf(shard: number, shards: number): SlotRun {
  return { first: firstSlot(shard, shards), last: firstSlot(shard + 1, shards) - 1 }
}

/** Shard of each slot, as a table. */
export function shardTable(shards: number): Uint16Array {
  const table = new Uint16Array(slotCount)
  for (let shard = 0; shard < shards; shard++) {
    const { first, last } = slotsOf(shard, shards)
    table.fill(shard, first, last + 1)
  }
  return table
}

/**
 * The slot of a key, as Redis Cluster computes it: CRC16 (XMODEM) of its bytes, or of those between the first `{`
 * and the next `}` if there are any.
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return crc16(Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)) % slotCount
}

function firstSlot(shard: number, shards: number): number {
  return Math.floor((shard * slotCount) / shards)
}

const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ crcTable[(crc >> 8) ^ byte]!
  return crc
}
