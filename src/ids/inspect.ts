/** The parts of an id, for people: `ID.DECODE`, `GET /v1/decode`, `fahao decode`. */
import { decode } from './id-parts.ts'
import type { Layout } from './layout.ts'
import { formatLayout } from './layout-text.ts'

/** An id taken apart, all in text and in the order in which to show it. */
export type IdDescription = {
  readonly id: string
  /** The layout's name where it has one, else its canonical text. */
  readonly layout: string
  /** When its unit of time began, ISO in UTC. */
  readonly date: string
  /** The same in whole Unix milliseconds. */
  readonly unixMs: string
  /** Units of the layout since its epoch. */
  readonly time: string
  readonly node: string
  readonly sequence: string
}

/** Takes an id apart. Throws ERR where the layout cannot have made it. */
export function describeId(layout: Layout, id: bigint): IdDescription {
  const { time, unixUs, date, node, sequence } = decode(layout, id)
  return {
    id: String(id),
    layout: layout.name ?? formatLayout(layout),
    date,
    unixMs: String(unixUs / 1000n),
    time: String(time),
    node: String(node),
    sequence: String(sequence),
  }
}
