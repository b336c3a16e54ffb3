/** What issues ids of leased time. It is loaded with the first lease of a worker id: other clients do without. */
export { clockBuffer } from '../../src/buffers/scattered-clock-buffer.ts'
export { parseLayout } from '../../src/ids/layout-text.ts'
