/** What GitHub and editors run: it cannot run here, so linters of each kind read it. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../test/launch/program.ts'
import type { Artifact, Release } from './artifact.ts'

const actionlint = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'
const pythonTools = ['zizmor==1.32.0', 'check-jsonschema==0.39.0']
/** The schema that is built into check-jsonschema, and what it is of. */
const schemas: Readonly<Record<string, string>> = {
  'vendor.github-workflows': '.github/workflows/*.yml',
  'vendor.dependabot': '.github/dependabot.yml',
  'vendor.github-issue-forms': '.github/ISSUE_TEMPLATE/[!c]*.yml',
  'vendor.github-issue-config': '.github/ISSUE_TEMPLATE/config.yml',
}

/** Lints the workflows, the updates and the forms. */
export async function checkWorkflows({ scratch }: Release): Promise<readonly Artifact[]> {
  await runProgram(['sh', 'scripts/language-tools.sh'])
  await runProgram(['go', 'run', actionlint])
  const packages = join(scratch, 'python')
  await runProgram(['python3', '-m', 'pip', 'install', '-q', '--target', packages, ...pythonTools])
  const env = { PYTHONPATH: packages }
  await runProgram(
    [join(packages, 'bin', 'zizmor'), '--offline', '--quiet', '--min-severity', 'medium', '.github'],
    { env },
  )
  for (const [schema, pattern] of Object.entries(schemas)) {
    const files = globSync(pattern)
    if (files.length === 0) throw new Error(`${pattern} matches no file`)
    const command = ['python3', '-m', 'check_jsonschema', '--builtin-schema', schema]
    await runProgram([...command, ...files], { env })
  }
  return [
    {
      name: '.github/workflows',
      tried:
        'actionlint, zizmor, schema. Not run here, for want of GitHub; `git push origin v1.2.3-rc.1` runs both',
    },
    {
      name: '.github/dependabot.yml, .github/ISSUE_TEMPLATE',
      tried: 'schemas. GitHub reads them after a push',
    },
    {
      name: '.devcontainer',
      tried:
        'its commands are those of .ci/run. Not run here, for want of Docker; `devcontainer up --workspace-folder .`',
    },
  ]
}
