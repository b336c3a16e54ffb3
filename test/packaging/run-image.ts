/**
 * npm run test:image: builds the image from the Dockerfile with buildah, on roots of Debian's packages in the place of images of a
 * registry, and runs it with podman as compose.yaml describes. scripts/test-image.sh calls it, as root.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startEtcd } from '../launch/etcd.ts'
import { inScope, type Scope } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { freePort } from '../launch/places.ts'
import { requireProgram } from '../launch/process.ts'
import {
  type Container,
  composeNames,
  composeNodes,
  idsOfOrder,
  mariaDbUrl,
  root,
  variablesAt,
} from './containers.ts'

const layersMaxBytes = 100e6
const distribution = 'bookworm'
// The images are too large for a file system in memory.
const folder = mkdtempSync('/var/tmp/fahao-image-')
const storage = [
  '--root',
  join(folder, 'storage'),
  '--runroot',
  join(folder, 'run'),
  '--storage-driver',
  'overlay',
]
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fahao-image')
/** What compose.yaml sets of each container, and what a machine without CAP_SYS_RESOURCE permits. */
const limits = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
  '--network',
  'host',
]
const files = ['--ulimit', 'nofile=20000:20000', '--ulimit', 'nproc=4096:4096']
const names: string[] = []

try {
  buildRoots()
  buildImage()
  report(layers())
  await inScope(run)
} finally {
  for (const name of names) podman(['rm', '--force', '--time', '0', '--volumes', name])
  rmSync(folder, { recursive: true, force: true })
}

/** A root as small as Debian's image, and one with Node and npm on top. */
function buildRoots(): void {
  const tar = join(cache, `${distribution}.tar`)
  if (!existsSync(tar)) {
    mkdirSync(cache, { recursive: true })
    const left = ['doc', 'man', 'locale', 'info'].map((each) => `--dpkgopt=path-exclude=/usr/share/${each}/*`)
    const sources = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter(existsSync)
    command('mmdebstrap', ['--variant=minbase', ...left, distribution, tar, ...sources])
  }
  const base = buildah(['from', 'scratch'])
  buildah(['add', '--quiet', base, tar, '/'])
  buildah(['commit', '--quiet', '--rm', base, 'localhost/base'])
  const node = buildah(['from', 'localhost/base'])
  // …/npm/bin/npm-cli.js
  const npm = dirname(dirname(realpathSync(requireProgram('npm'))))
  buildah(['copy', '--quiet', node, process.execPath, '/usr/local/bin/node'])
  buildah(['copy', '--quiet', node, npm, '/usr/local/lib/npm'])
  const link = ['ln', '-s', '../lib/npm/bin/npm-cli.js', '/usr/local/bin/npm']
  buildah(['run', '--isolation', 'chroot', node, ...link])
  buildah(['config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt', node])
  buildah(['commit', '--quiet', '--rm', node, 'localhost/node'])
}

function buildImage(): void {
  const settings = join(folder, 'npmrc')
  writeFileSync(settings, `registry=${command('npm', ['config', 'get', 'registry'])}\n`)
  const images = { REGISTRY: 'localhost/', BUILD_IMAGE: 'node', RUN_IMAGE: 'base' }
  const given = Object.entries(images).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  buildah([
    ...['build', '--isolation', 'chroot', '--format', 'docker', '--pull-never', ...given],
    ...['--secret', `id=npmrc,src=${settings}`, '--volume', '/etc/ssl/certs:/etc/ssl/certs:ro'],
    ...['--tag', 'localhost/fahao', root],
  ])
}

type Layer = { readonly size: number }

/** The sizes of the layers in bytes, compressed as a registry has them. */
function layers(): number[] {
  const place = join(folder, 'pushed')
  buildah(['push', '--quiet', '--format', 'oci', 'localhost/fahao', `oci:${place}`])
  const blob = (digest: string) => readJson(join(place, 'blobs', digest.replace(':', '/')))
  const manifest = blob(readJson(join(place, 'index.json')).manifests[0].digest)
  return manifest.layers.map(({ size }: Layer) => size)
}

function report(sizes: readonly number[]): void {
  const sum = sizes.reduce((total, size) => total + size, 0)
  console.log(
    `layers, compressed: ${[...sizes, sum].map((size) => (size / 1e6).toFixed(1)).join(' MB, ')} MB in all`,
  )
  assert.ok(sum <= layersMaxBytes, `the layers have ${sum} bytes together`)
}

async function run(scope: Scope): Promise<void> {
  const [one] = await start(composeNodes('one'), {})
  assert.equal(inside(one!, 'process.getuid()'), '1000')
  assert.match(
    inside(one!, "fs.readFileSync('/proc/1/status', 'utf8')"),
    /CapEff:\t0+\n[\s\S]*NoNewPrivs:\t1\n/,
  )
  for (const path of ['/x', '/opt/fahao/x', '/tmp/x'])
    assert.equal(
      inside(
        one!,
        `(() => { try { fs.writeFileSync('${path}', '') } catch (error) { return error.code } })()`,
      ),
      'EROFS',
    )
  assert.match(podman(['exec', one!.name, 'fahao', '--help']), /serve/)
  assert.deepEqual(await idsOfOrder(scope, [one!.resp]), [1n])
  podman(['stop', '--time', '20', one!.name])
  assert.equal(podman(['inspect', '--format', '{{.State.ExitCode}}', one!.name]), '0')
  podman(['start', one!.name])
  await healthy(one!)
  assert.deepEqual(await idsOfOrder(scope, [one!.resp]), [2n])
  assert.throws(
    () => podman(['run', '--rm', ...limits, ...files, 'localhost/fahao']),
    /ENGINE \/data\/fahao\.db/,
  )
  console.log('one: not root, no capability, read-only; 1, and after a stop and a start of the container 2')

  const etcd = await startEtcd(scope, { members: 3 })
  const cluster = await start(composeNodes('etcd'), composeNames(etcd))
  assert.deepEqual(
    await idsOfOrder(
      scope,
      cluster.map(({ resp }) => resp),
    ),
    [1n, 2n, 3n],
  )
  for (const [at, node] of cluster.entries()) {
    podman(['restart', '--time', '20', node.name])
    await healthy(node)
    assert.deepEqual(await idsOfOrder(scope, [cluster[(at + 1) % 3]!.resp]), [BigInt(4 + at)])
  }
  console.log('etcd: 1, 2, 3 from three nodes; 4, 5, 6 while each is restarted in turn')

  const database = await (await startMariaDb(scope)).newDatabase()
  const fleet = await start(composeNodes('mariadb'), { [mariaDbUrl]: database })
  assert.deepEqual(
    await idsOfOrder(
      scope,
      fleet.map(({ resp }) => resp),
    ),
    [1n, 2n],
  )
  console.log('mariadb: 1, 2 from two nodes')
}

type Running = { readonly name: string; readonly resp: number }

/** Runs containers; resolves when the health check of each succeeds. */
function start(
  containers: readonly Container[],
  places: Readonly<Record<string, string>>,
): Promise<Running[]> {
  return Promise.all(
    containers.map(async (container) => {
      const { name, args } = container
      const [resp, http] = [await freePort(), await freePort()]
      const env = variablesAt(container, { resp, http, names: places })
      const variables = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`])
      names.push(name)
      const begun = performance.now()
      podman([
        'run',
        '--detach',
        '--name',
        name,
        ...limits,
        ...files,
        ...variables,
        '--volume',
        `${name}:/data`,
        'localhost/fahao',
        ...args,
      ])
      const running = { name, resp }
      await healthy(running)
      const pid = podman(['inspect', '--format', '{{.State.Pid}}', name])
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
      console.log(
        `${name}: healthy after ${Math.round(performance.now() - begun)} ms, ${Math.round(Number(kilobytes) / 1024)} MiB resident`,
      )
      return running
    }),
  )
}

async function healthy({ name }: Running): Promise<void> {
  const giveUpAt = performance.now() + 60_000
  while (spawnSync('podman', [...podmanFlags(), 'healthcheck', 'run', name]).status !== 0) {
    if (performance.now() > giveUpAt) throw new Error(`${name} is not healthy:\n${podman(['logs', name])}`)
    await pause(50)
  }
}

/** The value of an expression in a container. */
function inside({ name }: Running, expression: string): string {
  return podman(['exec', name, 'node', '-p', expression])
}

function buildah(args: readonly string[]): string {
  return command('buildah', [...storage, ...args])
}

function podman(args: readonly string[]): string {
  return command('podman', [...podmanFlags(), ...args])
}

function podmanFlags(): string[] {
  return [...storage, '--runtime', '/usr/sbin/runc', '--cgroup-manager', 'cgroupfs']
}

/** Runs a program to its end; what it prints, without the end of its last line. */
function command(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (error) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`)
  return stdout.trim()
}

function readJson(path: string) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
