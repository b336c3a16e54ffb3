/** Names behind oids, and oids behind names: what regclass, regproc and the other types of names read and write. */
import { SqlError } from '../sql-error.ts'
import { functionNames, functionSignatures, schemas } from './catalog-facts.ts'
import { quoteIdentifier, sequenceName, splitName } from './quoting.ts'
import type { Snapshot } from './snapshot.ts'
import { findType } from './text-input.ts'
import { refused } from './tree.ts'
import { formatType, oids, relationNamed, relationOf, typeOf } from './types.ts'
import type { ObjectNames } from './values.ts'
import { databaseRows } from './written-rows.ts'

const fixedRoles = [...databaseRows.pg_authid!.matchAll(/(\d+)\|(pg_\w+)/g)].map(
  ([, oid, name]) => [Number(oid), name!] as const,
)

/** The objects that one run may see. */
export class Objects implements ObjectNames {
  readonly #snapshot: Snapshot
  readonly #roles: ReadonlyMap<number, string>

  constructor(snapshot: Snapshot, user: string) {
    this.#snapshot = snapshot
    this.#roles = new Map([[10, user], ...fixedRoles])
  }

  nameOf(type: number, oid: number): string | undefined {
    if (type === oids.regclass) return this.#nameOfRelation(oid)
    if (type === oids.regtype) return typeOf(oid) && formatType(oid)
    return this.#mapOf(type).get(oid)
  }

  oidOf(type: number, text: string): number {
    if (type === oids.regclass) return this.#oidOfRelation(text)
    const isSignature = type === oids.regprocedure
    const known = type === oids.regtype ? findType(text) : isSignature ? functionSignatures.get(text) : 0
    if (known) return known
    if (type === oids.regtype) throw new SqlError('42704', `type "${text}" does not exist`)
    if (isSignature) throw refused(`The function "${text}"`)
    const plain = type === oids.regproc ? text.replace(/^pg_catalog\./, '') : splitName(text)[0]
    const found = [...this.#mapOf(type)].filter(([, name]) => name === plain)
    if (found.length === 1) return found[0]![0]
    if (type === oids.regproc) throw refused(`The function "${text}"`)
    if (type === oids.regnamespace) throw new SqlError('3F000', `schema "${plain}" does not exist`)
    throw new SqlError('42704', `role "${plain}" does not exist`)
  }

  #mapOf(type: number): ReadonlyMap<number, string> {
    return type === oids.regproc ? functionNames : type === oids.regnamespace ? schemas : this.#roles
  }

  #nameOfRelation(oid: number): string | undefined {
    const relation = relationOf(oid)
    if (relation) return relation.isInformation ? `information_schema.${relation.name}` : relation.name
    const name = this.#snapshot.withOids([oid])[0]?.name
    if (name === undefined) return undefined
    // A relation of PostgreSQL's goes before a sequence of the same name.
    return relationNamed(name) ? `public.${quoteIdentifier(name)}` : quoteIdentifier(name)
  }

  #oidOfRelation(text: string): number {
    const names = splitName(text)
    const [name, schema] = [names.at(-1)!, names.at(-2)]
    const relation = schema === 'public' ? undefined : relationNamed(name, schema)
    if (relation) return relation.oid
    const isOwn = schema === 'pg_catalog' || schema === 'information_schema'
    const [facts] = isOwn ? [] : this.#snapshot.named([sequenceName(names)])
    if (!facts) throw new SqlError('42P01', `relation "${text}" does not exist`)
    return facts.oid
  }
}
