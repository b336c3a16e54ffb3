/** The bill of materials of a release (CycloneDX), which the validator of that standard accepts, and the licences of what it lists. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../test/launch/program.ts'
import { type Artifact, artifact, type Release } from './artifact.ts'

const bill = 'sbom.cdx.json'
const licences = 'THIRD-PARTY-LICENSES.txt'
/** CycloneDX's own validator, which a release alone needs. */
const validator = ['@cyclonedx/cyclonedx-library@10.3.0', 'ajv@8', 'ajv-formats@3', 'ajv-formats-draft2019@1']
type Bill = {
  readonly specVersion: string
  readonly components: readonly { readonly name: string; readonly version: string }[]
}

const validation = `import { readFileSync } from 'node:fs'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
const text = readFileSync(process.argv[2], 'utf8')
const errors = await new Validation.JsonStrictValidator(JSON.parse(text).specVersion).validate(text)
if (errors !== null) throw new Error(JSON.stringify(errors, null, 2))
`

/** Takes both from the build; validates the bill by the strict schema of its version, and finds each package of it in the licences. */
export async function makeBill(release: Release): Promise<readonly Artifact[]> {
  for (const file of [bill, licences]) copyFileSync(join('dist', file), join(release.folder, file))
  const path = join(release.folder, bill)
  const { specVersion, components }: Bill = JSON.parse(readFileSync(path, 'utf8'))
  const cwd = join(release.scratch, 'validator')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), '{"private":true}')
  writeFileSync(join(cwd, 'validate.mjs'), validation)
  await runProgram(['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...validator], { cwd })
  await runProgram([process.execPath, 'validate.mjs', path], { cwd })
  const texts = readFileSync(join(release.folder, licences), 'utf8')
  const unnamed = components.filter(({ name, version }) => !texts.includes(`${name} ${version} (`))
  if (unnamed.length > 0) throw new Error(`${licences} lacks ${unnamed.map(({ name }) => name).join(', ')}`)
  return [
    artifact(
      release,
      bill,
      `valid by the strict schema of CycloneDX ${specVersion}; ${components.length} packages`,
    ),
    artifact(release, licences, `names each of the ${components.length} packages`),
  ]
}
