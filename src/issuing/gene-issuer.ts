/**
 * The issuer of a generator whose callers give the lowest bits of its ids.
 *
 * Invariants
 *  1. Nothing is issued without a gene: it has no row, `take` gives nothing, and `draw` checks the genes before it asks for ids (P1:
 *     two ids of one block would differ in nothing).
 *  2. An id of the issuer within stands for its whole block, the ids that have its upper bits. For kinds made of a counter it is the
 *     last one of the block, so that every id is below the durable bound and `lastIssued` is none too low (P2).
 */
import { emptyRow } from '../buffers/fast-runs.ts'
import { readGenes } from '../ids/gene.ts'
import { type Run, ScatteredRun } from '../ids/run.ts'
import type { DrawOptions, Issuer, IssuerStats } from './issuer.ts'

/** An issuer whose callers give the lowest `bits` bits of its ids; the issuer itself where there are none. */
export function issuerWithGene(name: string, bits: number, issuer: Issuer): Issuer {
  return bits === 0 ? issuer : new GeneIssuer(name, bits, issuer)
}

/** Puts genes into the ids of an issuer. */
class GeneIssuer implements Issuer {
  readonly row = emptyRow
  readonly #name: string
  readonly #bits: number
  readonly #last: bigint
  readonly #issuer: Issuer

  constructor(name: string, bits: number, issuer: Issuer) {
    this.#name = name
    this.#bits = bits
    this.#last = (1n << BigInt(bits)) - 1n
    this.#issuer = issuer
  }

  get isOver(): boolean {
    return this.#issuer.isOver
  }

  take(): number {
    return 0
  }

  takeNumber(): number {
    return -1
  }

  /** Rejects with ERR for genes that do not fit. */
  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    return drawWithGenes(this.#name, this.#bits, count, options, () => this.#issuer.draw(count, options))
  }

  nextIsSafe(): boolean {
    return this.#issuer.nextIsSafe()
  }

  /** The last id of the newest block. */
  lastIssued(): bigint | undefined {
    const newest = this.#issuer.lastIssued()
    return newest === undefined ? undefined : newest | this.#last
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#issuer.moveTo(newest | this.#last)
  }

  stats(): IssuerStats {
    return this.#issuer.stats()
  }

  assertInvariants(): void {
    this.#issuer.assertInvariants()
  }

  close(reason: Error): Promise<void> {
    return this.#issuer.close(reason)
  }
}

/** Puts the genes of a draw into the ids that `drawBlocks` draws for it. `bits` 0: it may give none. Rejects with ERR for genes that do not fit. */
export async function drawWithGenes(
  name: string,
  bits: number,
  count: number,
  options: DrawOptions,
  drawBlocks: () => Promise<Run[]>,
): Promise<Run[]> {
  const genes = readGenes(name, bits, count, options)
  const blocks = await drawBlocks()
  if (bits === 0) return blocks
  const last = (1n << BigInt(bits)) - 1n
  const put = (id: bigint, gene: bigint) => (id | last) - last + gene
  let at = 0
  return blocks.map((block) => {
    const from = at
    at += block.count
    if (genes.length > 1)
      return new ScatteredRun(block.count, (index) => put(block.at(index), genes[from + index]!))
    const [gene] = genes
    if (block.stride === 0) return new ScatteredRun(block.count, (index) => put(block.at(index), gene!))
    block.set(put(block.first, gene!), block.count, block.stride)
    return block
  })
}
