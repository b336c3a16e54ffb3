/** The text of a worker lease, `WORKER-EPOCH-SECRET`: the claim that it names, and the proof that it is the caller's. */
import { timingSafeEqual } from 'node:crypto'
import type { WorkerRecord } from '../issuing/worker-records.ts'

/** Bytes of the secret. */
export const workerLeaseSecretBytes = 16
const shape = /^(\d{1,5})-(\d{1,15})-([0-9a-f]{32})$/

/** Whether a text has the form of a worker lease. */
export function isWorkerLease(text: string): boolean {
  return shape.test(text)
}

/** The text of the lease whose claim has this record. */
export function workerLeaseText(id: number, { epoch, owner }: WorkerRecord): string {
  return `${id}-${epoch}-${owner}`
}

/** The worker id that a lease is of; undefined: the text is no worker lease. */
export function workerOf(lease: string): number | undefined {
  const id = shape.exec(lease)?.[1]
  return id === undefined ? undefined : Number(id)
}

/** Whether a lease is of the claim that this record shows. */
export function isWorkerLeaseOf(lease: string, record: WorkerRecord): boolean {
  const [, , epoch, secret = ''] = shape.exec(lease) ?? []
  if (record.startUs === undefined || record.epoch !== Number(epoch)) return false
  const [given, own] = [Buffer.from(secret), Buffer.from(record.owner)]
  return given.length === own.length && timingSafeEqual(given, own)
}
