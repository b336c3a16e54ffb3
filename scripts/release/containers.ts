/** The chart, which is a file of the release, and the image, which a registry has: both are made and used here. */
import { join } from 'node:path'
import { runProgram } from '../../test/launch/program.ts'
import { type Artifact, artifact, type Release } from './artifact.ts'

/** Packs the chart, and renders it as packed. */
export async function makeChart(release: Release): Promise<readonly Artifact[]> {
  // The tarball of npm has the name that helm would choose.
  const name = `fahao-chart-${release.version}.tgz`
  const file = join(release.folder, name)
  const printed = await runProgram(['npm', 'run', '--silent', 'test:chart', '--', '--package', file])
  const checked = /^kubeconform: (.*)$/m.exec(printed)?.[1] ?? ''
  const tried = `packed; \`helm lint --strict\` and \`helm template\` of the packed file; kubeconform (${checked.replace(/\.$/, '')}), Pod Security restricted`
  const reader = `Not run here, for want of a cluster; \`helm install fahao ${name} --set image=…\``
  return [artifact(release, name, `${tried}. ${reader}`)]
}

/** Builds the image on a root of Debian, and runs it as compose.yaml says. */
export async function tryImage(): Promise<readonly Artifact[]> {
  const printed = await runProgram(['npm', 'run', '--silent', 'test:image'])
  const megabytes = Number(/([\d.]+) MB in all$/m.exec(printed)?.[1])
  const used = printed.match(/^(?:one|etcd|mariadb): .*$/gm) ?? []
  const reader =
    'With Docker: `docker build -t fahao . && docker run --rm -e FAHAO_ADMIN_PASSWORD=… -v fahao:/data -p 127.0.0.1:7379:7379 fahao`'
  const tried = `built by buildah on a root of Debian, run by podman: ${used.join('; ')}. ${reader}`
  return [{ name: 'image (compressed layers)', bytes: megabytes * 1e6, tried }]
}
