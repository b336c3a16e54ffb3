/**
 * What a copy of a store brings back when it takes the store's place: users that were removed since, passwords and permissions
 * that were changed since, tokens that were revoked since. A restored store cannot know: its operator has to be told.
 */
import { eachInParts } from '../engine/advance-rules.ts'
import type { Repair, StoredRecord } from '../engine/engine.ts'
import { readToken, type Token, writeToken } from './token.ts'
import { readStored, type StoredUser } from './user.ts'

const [usersPrefix, tokensPrefix] = ['users/', 'tokens/']

/** The credentials of a copy that are good again. Names of users, and texts `ID of USER (LABEL)` of tokens. */
export type Revived = {
  /** Whether the replaced store could be read; if not, everything that the copy has is listed. */
  readonly isCompared: boolean
  /** Users that are not in the replaced store, or were removed there. */
  readonly removedUsers: readonly string[]
  /** Users whose passwords, or whether they need one, are those of the copy, and were others. */
  readonly passwords: readonly string[]
  /** Users with the same passwords that may do something else, or were off. */
  readonly permissions: readonly string[]
  /** Tokens that were revoked, or whose user was removed. */
  readonly tokens: readonly string[]
}

/** Compares a copy with the store that it replaces; `replaced` undefined: that cannot be read. */
export function revivedBy(
  copy: readonly StoredRecord[],
  replaced: readonly StoredRecord[] | undefined,
  nowMs: number,
): Revived {
  const before = new Map((replaced ?? []).map(({ key, value }) => [key, value]))
  const users = usersIn(copy).map((stored) => ({ stored, was: userBefore(stored.user.name, before) }))
  const names = (chosen: typeof users) => chosen.map(({ stored }) => stored.user.name)
  const present = users.filter(({ was }) => was !== undefined)
  const changed = present.filter(({ stored, was }) => JSON.stringify(was) !== JSON.stringify(stored.user))
  const hasOther = ({ stored, was }: (typeof users)[number]) => secretsOf(stored.user) !== secretsOf(was)
  return {
    isCompared: replaced !== undefined,
    removedUsers: names(users.filter(({ was }) => was === undefined)),
    passwords: names(changed.filter(hasOther)),
    permissions: names(changed.filter((each) => !hasOther(each))),
    tokens: validTokens(copy, nowMs)
      .filter(({ id, user, userSince }) => {
        const was = before.get(tokensPrefix + id)
        const isRevoked = was === undefined || readToken(id, was)?.revokedMs !== undefined
        return isRevoked || storedBefore(user, before)?.since !== userSince
      })
      .map(({ id, user, label }) => `${id} of ${user}${label === '' ? '' : ` (${label})`}`),
  }
}

/** What becomes of users and tokens in a restore. */
export type RestoredAccess = {
  /** Revokes every token of the copy, if that is wanted. */
  readonly repair: Repair
  /** What came back, once the repair was made; of tokens that it has revoked, none. */
  readonly revived: () => Revived
}

/** @param replaced the records of the store that the copy replaces; undefined: it cannot be read. */
export function restoredAccess(
  replaced: readonly StoredRecord[] | undefined,
  nowMs: number,
  revokesTokens: boolean,
): RestoredAccess {
  let copy: readonly StoredRecord[] = []
  return {
    *repair(records) {
      copy = records
      const revoked = new Map<string, string>()
      yield* eachInParts(revokesTokens ? validTokens(records, nowMs) : [], (token) =>
        revoked.set(tokensPrefix + token.id, writeToken({ ...token, revokedMs: nowMs })),
      )
      return { counters: new Map(), records: revoked }
    },
    revived() {
      const revived = revivedBy(copy, replaced, nowMs)
      return revokesTokens ? { ...revived, tokens: [] } : revived
    },
  }
}

/** The tokens that are valid in a store. */
function validTokens(records: readonly StoredRecord[], nowMs: number): Token[] {
  const since = new Map(usersIn(records).map((stored) => [stored.user.name, stored.since]))
  return records
    .filter(({ key }) => key.startsWith(tokensPrefix))
    .flatMap(({ key, value }) => readToken(key.slice(tokensPrefix.length), value) ?? [])
    .filter(
      ({ user, userSince, revokedMs, expiresMs }) =>
        revokedMs === undefined &&
        (expiresMs === undefined || expiresMs > nowMs) &&
        since.get(user) === userSince,
    )
}

/** The users of a store that were not removed, by name. */
function usersIn(records: readonly StoredRecord[]): StoredUser[] {
  return records
    .filter(({ key }) => key.startsWith(usersPrefix))
    .flatMap(({ key, value }) => readStored(key.slice(usersPrefix.length), value) ?? [])
    .filter(({ removedMs }) => removedMs === undefined)
}

function storedBefore(name: string, before: ReadonlyMap<string, string>): StoredUser | undefined {
  const value = before.get(usersPrefix + name)
  const stored = value === undefined ? undefined : readStored(name, value)
  return stored?.removedMs === undefined ? stored : undefined
}

function userBefore(name: string, before: ReadonlyMap<string, string>) {
  return storedBefore(name, before)?.user
}

function secretsOf(user: StoredUser['user'] | undefined): string {
  return JSON.stringify([user?.nopass, user?.passwords])
}
