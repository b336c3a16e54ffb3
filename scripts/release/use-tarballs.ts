/**
 * Uses the packed packages in the Node that runs this: `node scripts/release/use-tarballs.ts FOLDER`, the folder with the
 * tarballs of fahao and fahao-client. Workflows run it on each Node that the packages promise.
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installTarballs, useProject } from './packed-packages.ts'

const tarballs = globSync(join(process.argv[2] ?? '.', 'fahao-*.tgz'))
if (tarballs.length !== 2) throw new Error(`Two tarballs are needed, and there are: ${tarballs.join(', ')}`)
const folder = mkdtempSync(join(tmpdir(), 'fahao-use-'))
try {
  const project = join(folder, 'project')
  const { packages, bytes } = await installTarballs(project, tarballs)
  console.log(`Node ${process.versions.node}: ${packages} packages, ${bytes} bytes`)
  for (const done of await useProject(project)) console.log(done)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
