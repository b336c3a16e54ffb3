/**
 * Genes: the lowest bits of an id that its caller gives, so that what belongs together lies on one shard. An order with the gene of
 * its customer is found by either.
 */
import { FahaoError } from '../base/errors.ts'
import type { MomentInput } from './moment.ts'
import { firstFrom } from './run.ts'

/** 65,536 shards are more than any database here has, and ids of one unit of time stay close enough for runs of ids. */
export const geneBitsMax = 16

/** What a caller gives for the genes of ids: themselves, or keys that they are made of. One for all ids, or one for each. */
export type GeneInput = {
  readonly gene?: number | bigint | readonly (number | bigint)[] | undefined
  /** A gene is `geneOf(key, bits)`. */
  readonly by?: string | readonly string[] | undefined
}

/** What a caller gives for ids: genes, a moment that has passed, which they are of, a number that they are above, and the key of its request. */
export type IdInput = GeneInput & {
  readonly at?: MomentInput | undefined
  /** Each id is larger than this number, and none below it is issued any more here. Of a `sequence` or an ordered `segment`. */
  readonly above?: bigint | number | undefined
  /** Skips more ids than the generator's option JUMP allows: for who may manage it. */
  readonly force?: boolean | undefined
  /** The key of the request: a second one with the same key gets the same ids. 1 to 255 bytes. */
  readonly key?: string | undefined
}

const crcTable = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})
const utf8 = new TextEncoder()

/**
 * The gene of a key: the lowest `bits` bits of the CRC-32 (that of zlib, PNG and IEEE 802.3) of its UTF-8. MySQL's
 * `crc32('user:8812') % 1024` computes it too, and so do PostgreSQL 18, Java, Go, Python and PHP.
 */
export function geneOf(key: string, bits: number): number {
  let crc = 0xffffffff
  for (const byte of utf8.encode(key)) crc = (crc >>> 8) ^ crcTable[(crc ^ byte) & 255]!
  return (~crc >>> 0) % 2 ** bits
}

/** The first value of the first whole block at or above a value: of the ids that differ in nothing but the gene. */
export function firstBlock(value: bigint, bits: number): bigint {
  return firstFrom(value, 2 ** bits, 0n)
}

/** The gene of an id. */
export function geneIn(id: bigint, bits: number): number {
  return Number(BigInt.asUintN(bits, id))
}

/** Whether a caller gives genes. */
export function givesGenes({ gene, by }: GeneInput): boolean {
  return gene !== undefined || by !== undefined
}

/** Whether a caller takes any id that is buffered: it gives nothing for it, and has not given up. */
export function takesAny(options: (IdInput & { readonly signal?: AbortSignal }) | undefined): boolean {
  if (options === undefined) return true
  const { at, above, key, signal } = options
  const isPlain = at === undefined && above === undefined && key === undefined
  return isPlain && !signal?.aborted && !givesGenes(options)
}

/**
 * The genes for `count` ids of a generator: one for all, or one for each. `bits` 0: it has none. Throws ERR where there has to be
 * another number of them, or one does not fit.
 */
export function readGenes(name: string, bits: number, count: number, input: GeneInput): readonly bigint[] {
  const { gene, by } = input
  if (bits === 0) {
    if (!givesGenes(input)) return []
    throw refused(`'${name}' has no bits for a gene; leave it out, or create a generator with GENE`)
  }
  if (!givesGenes(input)) throw needsGene(name, bits)
  if (gene !== undefined && by !== undefined)
    throw refused('a gene is given by itself or by a key; give one of GENE and BY')
  const genes =
    by === undefined ? [gene!].flat().map((each) => checkedGene(name, bits, each)) : keyGenes(by, bits)
  if (genes.length === 1 || genes.length === count) return genes
  throw refused(
    `${genes.length} genes do not fit ${count} ids of '${name}'; give one for all, or one for each`,
  )
}

/** The error for draws that cannot name a gene, or do not. */
export function needsGene(name: string, bits: number): FahaoError {
  return refused(
    `'${name}' needs a gene with each draw: GENE 0 to ${2 ** bits - 1}, or BY key, as ID.NEXT has them`,
  )
}

function keyGenes(keys: string | readonly string[], bits: number): bigint[] {
  return checkedKeys(keys).map((key) => BigInt(geneOf(key, bits)))
}

/** The keys. Throws ERR for what is missing, as of a row without a customer: all such ids would lie on one shard. */
export function checkedKeys(keys: string | readonly string[]): readonly string[] {
  const all = [keys].flat()
  if (all.every((key) => typeof key === 'string' && key !== '')) return all
  throw refused('a key of a gene is a text that is not empty; give one, such as user:8812')
}

function checkedGene(name: string, bits: number, gene: number | bigint): bigint {
  const most = 2 ** bits - 1
  if ((typeof gene === 'bigint' || Number.isInteger(gene)) && gene >= 0 && gene <= most) return BigInt(gene)
  throw refused(`gene ${gene} is not one of '${name}'; give a whole number from 0 to ${most}`)
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
