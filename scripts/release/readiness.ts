/** What keeps a release from being made. Pure. */

/** The state of the repository. */
export type Repository = {
  /** The manifests of the packages, by path. */
  readonly manifests: Readonly<Record<string, { readonly name: string; readonly version: string }>>
  readonly changelog: string
  /** What `git status --porcelain` prints. */
  readonly changes: string
  /** The tags of the commit. */
  readonly tags: readonly string[]
}

/** The reasons not to release this; with `dryRun` not even to try. Each is one sentence that says what to do. */
export function refusals(repository: Repository, { dryRun }: { readonly dryRun: boolean }): string[] {
  const { manifests, changelog, changes, tags } = repository
  const versions = Object.values(manifests).map(({ version }) => version)
  const version = versions[0]!
  const reasons: string[] = []
  if (changes !== '')
    reasons.push(
      `The tree has changes that no commit has, so no commit would be released: commit them.\n${changes}`,
    )
  if (new Set(versions).size > 1) {
    const list = Object.values(manifests).map((manifest) => `${manifest.name} is ${manifest.version}`)
    reasons.push(`${list.join(', ')}: set one version with npm run release -- --set VERSION.`)
  }
  if (
    notesOf(changelog, version) === undefined &&
    (!dryRun || notesOf(changelog, 'Unreleased') === undefined)
  )
    reasons.push(`CHANGELOG.md has no section [${version}]: npm run release -- --set ${version} makes it.`)
  if (!dryRun && !tags.includes(`v${version}`))
    reasons.push(`The commit has no tag v${version}: git tag v${version}, or try with --dry-run.`)
  return reasons
}

/** The text below the heading of a version; undefined without one, or if nothing is below. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^(?=## )/m)
  const section = sections.find((each) => each.startsWith(`## [${version}]`))
  return section?.slice(section.indexOf('\n')).trim() || undefined
}

/** The changelog with what is unreleased under the heading of a version. Throws if nothing is, and has none either. */
export function withSection(changelog: string, version: string, date: string): string {
  if (notesOf(changelog, version) !== undefined) return changelog
  if (notesOf(changelog, 'Unreleased') === undefined)
    throw new Error('CHANGELOG.md has nothing below [Unreleased]: say there what users get.')
  return changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${date}\n`)
}
