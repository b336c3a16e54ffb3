/** What a release is made of, and how its makers say what they have made. */
import { statSync } from 'node:fs'
import { join } from 'node:path'

/** A release that is being made. */
export type Release = {
  /** Of both packages. */
  readonly version: string
  /** Where the files of the release are put. */
  readonly folder: string
  /** For files that are no part of it; goes at the end. */
  readonly scratch: string
  /** URL of the repository that the packages name, without which npm accepts no provenance. */
  readonly repository: string | undefined
}

/** A row of the table that `npm run release` prints. */
export type Artifact = {
  /** A file of the release, or what else was looked at. */
  readonly name: string
  /** Of the file. */
  readonly bytes?: number
  /** How it was used here; or why it was not, and the command by which a reader does so. */
  readonly tried: string
}

/** Makes some artifacts and uses each as a user would. Rejects when one does not work. */
export type Maker = (release: Release) => Promise<readonly Artifact[]>

/** The row of a file of the release. */
export function artifact({ folder }: Release, name: string, tried: string): Artifact {
  return { name, bytes: statSync(join(folder, name)).size, tried }
}

/** The table of artifacts, in Markdown. */
export function tableOf(artifacts: readonly Artifact[]): string {
  const rows = artifacts.map(({ name, bytes, tried }) => `| ${name} | ${sizeOf(bytes)} | ${tried} |`)
  return ['| artifact | size | how it was tried |', '|---|---:|---|', ...rows].join('\n')
}

function sizeOf(bytes: number | undefined): string {
  if (bytes === undefined) return ''
  if (bytes < 10_000) return `${bytes} B`
  return bytes < 10_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}
