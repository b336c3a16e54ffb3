/** What issues ids of leased time. It is loaded with the first lease of a worker id: other clients do without. */
export { ClockBuffer } from '../../src/buffers/clock-buffer.ts'
export { parseLayout } from '../../src/ids/layout-text.ts'
