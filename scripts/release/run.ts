/**
 * Makes every artifact of a release, uses each as a user would, and prints a table of them:
 * `npm run release -- [--dry-run] [--to FOLDER] [--repository URL]`. It publishes nothing; .github/workflows/release.yml does.
 *
 * With `--dry-run` the commit needs no tag, and the changelog no section for the version as long as [Unreleased] has text.
 * `npm run release -- --set VERSION` sets the version of everything, and gives the changelog its section.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Artifact, type Maker, type Release, tableOf } from './artifact.ts'
import { makeBill } from './bill.ts'
import { makeChart, tryImage } from './containers.ts'
import { makeLinux } from './linux.ts'
import { makePackages } from './packages.ts'
import { notesOf, refusals } from './readiness.ts'
import { setVersion } from './set-version.ts'
import { makeSums } from './sums.ts'
import { checkWorkflows } from './workflows.ts'

const root = join(import.meta.dirname, '..', '..')
const manifestPaths = ['package.json', 'client/package.json']

/** In this order: the checksums are those of what the others have made. */
const makers: Readonly<Record<string, Maker>> = {
  packages: makePackages,
  'bill of materials': makeBill,
  'executables and packages of Debian': makeLinux,
  chart: makeChart,
  image: tryImage,
  workflows: checkWorkflows,
  checksums: makeSums,
}

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    to: { type: 'string', default: 'release' },
    repository: { type: 'string' },
    set: { type: 'string' },
  },
})
process.chdir(root)
if (values.set === undefined) await release()
else {
  setVersion(values.set)
  console.log(
    `Everything is ${values.set}. Now: npm run test:chart -- --write, read CHANGELOG.md, commit, git tag v${values.set}`,
  )
}

async function release(): Promise<void> {
  const dryRun = values['dry-run']
  const manifests = Object.fromEntries(manifestPaths.map((path) => [path, JSON.parse(read(path))]))
  const changelog = read('CHANGELOG.md')
  const changes = git('status', '--porcelain')
  const tags = git('tag', '--points-at', 'HEAD').split('\n')
  const reasons = refusals({ manifests, changelog, changes, tags }, { dryRun })
  if (reasons.length > 0) {
    for (const reason of reasons) console.error(`Refused. ${reason}`)
    process.exitCode = 1
    return
  }
  const { version } = manifests['package.json']
  const folder = resolve(values.to)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'fahao-release-'))
  try {
    const artifacts = await makeAll({ version, folder, scratch, repository: values.repository })
    const notes = notesOf(changelog, version) ?? notesOf(changelog, 'Unreleased') ?? ''
    writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`)
    const title = `Fahao ${version}, commit ${git('rev-parse', 'HEAD').slice(0, 12)}`
    console.log(`## ${title}${dryRun ? ', a dry run' : ''}\n\n${tableOf(artifacts)}`)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** All rows. A maker that fails has one that says so, and the others run all the same. */
async function makeAll(release: Release): Promise<Artifact[]> {
  const artifacts: Artifact[] = []
  for (const [name, make] of Object.entries(makers)) {
    console.error(`Making the ${name} …`)
    try {
      artifacts.push(...(await make(release)))
    } catch (error) {
      process.exitCode = 1
      console.error(error)
      artifacts.push({ name, tried: `**FAILED**: ${String(error).split('\n')[0]}` })
    }
  }
  return artifacts
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trimEnd()
}
