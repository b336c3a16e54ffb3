/** The newest id of a generator: GET, and SET, which moves it forward. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import { optionsAtFirstUse } from '../catalogue/definition.ts'
import { refuseJump } from '../catalogue/floor.ts'
import { max63 } from '../ids/limits.ts'
import type { OperationContext } from './context.ts'
import { existing } from './drawing.ts'
import { generatorOperation } from './operation.ts'

/** The newest raw id that this node or a predecessor of it has issued; undefined: there is none, or no such generator. */
export const newestOperation = generatorOperation({
  name: 'get',
  permission: 'read',
  run: ({ catalogue }: OperationContext, { name }: { readonly name: string }) => newestId(catalogue, name),
})

type Move = {
  readonly name: string
  /** The next id is the first above it; 0 or more. */
  readonly newest: bigint
  /** `NX`: only where there is no generator. `XX`: only where there is one. */
  readonly condition?: 'NX' | 'XX' | undefined
  /** Moves the generator also where that gives up a large part of the ids. */
  readonly force?: boolean | undefined
}

/** Creates a sequence, or moves one forward. Returns whether it has done so. */
export const moveOperation = generatorOperation({
  name: 'set',
  permission: 'manage',
  change: 'set',
  async run({ catalogue }: OperationContext, { name, newest, condition, force = false }: Move) {
    if (condition === 'XX' && !(await catalogue.exists(name))) return false
    if (condition !== 'XX' && (await created(catalogue, name, newest, force))) return true
    if (condition === 'NX') return false
    const generator = await existing(catalogue, name)
    refuseKind(generator, newest)
    await generator.moveTo(newest, { force })
    return true
  },
})

/** The newest id of a generator that is open here and that no other node issues; undefined: what `newestId` looks up. */
export function newestHere(
  catalogue: Catalogue,
  name: string,
): { readonly id: bigint | undefined } | undefined {
  const generator = catalogue.find(name)
  return generator !== undefined && isIssuedHereAlone(generator) ? { id: generator.lastIssued() } : undefined
}

/** Whether no other node issues the ids of an open generator, or each its own: then `lastIssued` is its newest id here. */
export function isIssuedHereAlone({ mode }: Generator): boolean {
  return mode === 'local' || mode === 'node'
}

/** See `newestOperation`. */
export async function newestId(catalogue: Catalogue, name: string): Promise<bigint | undefined> {
  const inUse = catalogue.find(name)
  // With group commit other nodes issue too: only the engine has the newest id. With leaders only the leader has it.
  if (inUse === undefined || inUse.mode === 'group commit') {
    const info = await catalogue.info(name).catch(unlessUnknown)
    if (info?.mode !== 'leader') return info?.lastIssued
    // A question brings no name of a family into memory where it would be nil.
    if (info.definition.family && info.leader !== undefined && info.elsewhere === undefined) return undefined
  }
  return (await (inUse ?? (await catalogue.open(name))).ledHere()).lastIssued()
}

/** An unknown name is no error for what only reads; any other error is. */
function unlessUnknown(error: unknown): undefined {
  if (hasCode(error, 'NOGENERATOR')) return undefined
  throw error
}

/** Creates the sequence. False if there is a generator of this name. */
async function created(catalogue: Catalogue, name: string, newest: bigint, force: boolean): Promise<boolean> {
  try {
    if (newest === max63) throw new FahaoError('ERR', 'increment or decrement would overflow')
    if (!force) refuseJump(name, 0n, newest, max63)
  } catch (error) {
    if (await catalogue.exists(name)) return false
    throw error
  }
  return catalogue.createUnopened(name, { ...optionsAtFirstUse('sequence'), start: newest + 1n }, true)
}

function refuseKind({ kind, name }: Generator, newest: bigint): void {
  if (kind === 'sequence') return
  const why =
    kind === 'segment'
      ? `each node issues from its own range; use ID.ALTER ${name} FLOOR ${newest + 1n}`
      : 'its ids follow the clock and are above every earlier one already'
  throw new FahaoError('WRONGTYPE', `'${name}' is a ${kind}: ${why}`)
}
