/** A process and everything that descends from it, in whatever groups and sessions that is: PostgreSQL's backends. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, type Lifetime } from './lifetime.ts'

type Entry = { readonly pid: number; readonly parent: number; readonly state: string }

/** Stops every process of the tree, and resolves when all of them stand still. */
export async function freezeTree(root: number): Promise<void> {
  // The root first: a parent that stands still starts no more children.
  for (;;) {
    const moving = tree(root).filter((each) => each.state !== 'T' && each.state !== 't')
    if (moving.length === 0) return
    for (const each of moving) send(each.pid, 'SIGSTOP')
    await pause(1)
  }
}

/** Lets every process of the tree run on. */
export function thawTree(root: number): void {
  for (const each of tree(root)) send(each.pid, 'SIGCONT')
}

/** Ends every process of the tree at one moment, as a power cut does; resolves when none is left. */
export async function killTree(root: number): Promise<void> {
  // Frozen first: children of a dead parent are no longer to be found, and would notice its end and tidy up.
  await freezeTree(root)
  const pids = processTree(root)
  for (const pid of pids) send(pid, 'SIGKILL')
  while (pids.some(isAlive)) await pause(1)
}

/** The ids of the live processes of the tree, parents before children. */
export function processTree(root: number): number[] {
  return tree(root).map((each) => each.pid)
}

/** What descends from a process that is not to outlive `lifetime`; what is left of it then is killed. */
export function descendants(lifetime: Lifetime, root: number): number[] {
  const pids = processTree(root).filter((pid) => pid !== root)
  atEnd(lifetime, () => {
    for (const pid of pids.filter(isAlive)) send(pid, 'SIGKILL')
  })
  return pids
}

/** Whether a process has not ended yet. */
export function isAlive(pid: number): boolean {
  return entry(pid).length > 0
}

function tree(root: number): Entry[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? entry(Number(name)) : []))
  const found = all.filter((each) => each.pid === root)
  for (const parent of found) found.push(...all.filter((each) => each.parent === parent.pid))
  return found
}

/** One process, or none when it has ended; a zombie has. */
function entry(pid: number): Entry[] {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return []
  }
  // The second field is the program's name in brackets, which may hold anything.
  const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' || state === 'X' ? [] : [{ pid, parent: Number(parent), state }]
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
