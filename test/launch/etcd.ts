/**
 * An etcd cluster of one's own.
 *
 * Invariants
 *  1. Every life of a member has the ports and the data of the first, unless a snapshot took its place.
 *  2. Nothing outlives the lifetime, even what was frozen when it ended.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type CertificateFiles, makeCertificates } from './certificates.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { type Exit, type RunningProcess, requireProgram, startProcess } from './process.ts'
import { runProgram } from './program.ts'

/** How many members, whether clients have to show a certificate, and how large the database may grow. */
export type EtcdOptions = {
  readonly members?: 1 | 3
  readonly tls?: boolean
  /** Default: etcd's own, 2 GiB. */
  readonly quotaBytes?: number
}

/** Starts a cluster on free loopback ports, with its data in temporary folders; resolves when it serves. */
export async function startEtcd(lifetime: Lifetime, options: EtcdOptions = {}): Promise<EtcdCluster> {
  requireProgram('etcd')
  const folder = temporaryFolder(lifetime)
  const certificates = options.tls ? await makeCertificates(join(folder, 'tls')) : undefined
  const members: EtcdMember[] = []
  for (let index = 0; index < (options.members ?? 1); index++) {
    const ports = { clientPort: await freePort(), peerPort: await freePort(), healthPort: await freePort() }
    members.push(new EtcdMember(lifetime, `member${index}`, folder, ports, certificates, options.quotaBytes))
  }
  const cluster = new EtcdCluster(members, folder, certificates)
  await cluster.start()
  return cluster
}

/** The members together. */
export class EtcdCluster {
  readonly members: readonly EtcdMember[]
  readonly certificates: CertificateFiles | undefined
  readonly #folder: string
  #snapshots = 0
  #restores = 0

  constructor(members: readonly EtcdMember[], folder: string, certificates: CertificateFiles | undefined) {
    this.members = members
    this.#folder = folder
    this.certificates = certificates
  }

  /** The engine's URL of a place in it. */
  url(prefix: string, { user = '', members = this.members }: UrlOptions = {}): string {
    const hosts = members.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join(',')
    const files = this.certificates
    const query = files ? `?ca=${files.ca}&cert=${files.cert}&key=${files.key}` : ''
    return `${files ? 'etcds' : 'etcd'}://${user === '' ? '' : `${user}@`}${hosts}/${prefix}${query}`
  }

  /** Which member leads; waits until one does. */
  async leader(): Promise<EtcdMember> {
    for (;;) {
      for (const member of this.members) if (await member.isLeader()) return member
    }
  }

  /** Runs etcdctl against all members. */
  ctl(...args: readonly string[]): Promise<string> {
    const running = this.members.filter((member) => member.runs)
    return runEtcdctl(running, this.certificates, args)
  }

  /** Saves what the cluster holds now; resolves to the file. */
  async save(): Promise<string> {
    const file = join(this.#folder, `snapshot${this.#snapshots++}`)
    await runEtcdctl([this.members.find((member) => member.runs)!], this.certificates, [
      'snapshot',
      'save',
      file,
    ])
    return file
  }

  /**
   * Puts a snapshot in the place of the present data: all members end and start anew from it. Only with a
   * `token` that was not used before does the cluster get another id.
   */
  async restore(file: string, { token = `restored${this.#restores++}` } = {}): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    const all = initialCluster(this.members)
    for (const member of this.members) await member.replaceData(file, all, token)
    await this.start()
  }

  /** Starts all members. */
  async start(): Promise<void> {
    const all = initialCluster(this.members)
    await Promise.all(this.members.map((member) => member.start(all)))
  }
}

type UrlOptions = { readonly user?: string; readonly members?: readonly EtcdMember[] }

type Ports = { readonly clientPort: number; readonly peerPort: number; readonly healthPort: number }

/** The token with which clusters start when none is given. */
export const defaultToken = 'etcd-cluster'

/** One member; the same one through all its restarts. */
export class EtcdMember {
  readonly name: string
  readonly clientPort: number
  readonly peerPort: number
  readonly #healthPort: number
  readonly #lifetime: Lifetime
  readonly #data: string
  readonly #certificates: CertificateFiles | undefined
  readonly #quotaBytes: number
  #running: RunningProcess | undefined
  #cluster = ''

  constructor(
    lifetime: Lifetime,
    name: string,
    folder: string,
    { clientPort, peerPort, healthPort }: Ports,
    certificates: CertificateFiles | undefined,
    quotaBytes = 0,
  ) {
    this.#quotaBytes = quotaBytes
    this.#lifetime = lifetime
    this.name = name
    this.#data = join(folder, name)
    this.clientPort = clientPort
    this.peerPort = peerPort
    this.#healthPort = healthPort
    this.#certificates = certificates
  }

  /** Whether its process is there, frozen or not. */
  get runs(): boolean {
    return this.#running !== undefined && this.#running.exit() === undefined
  }

  get pid(): number {
    return this.#running!.pid
  }

  /** Stops it where it stands: connections stay open, and nothing answers. */
  freeze(): void {
    this.#running!.signal('SIGSTOP')
  }

  /** Lets it run on after `freeze`. */
  thaw(): void {
    this.#running!.signal('SIGCONT')
  }

  /** Ends it at once, as a crash does, frozen or not. */
  kill(): Promise<Exit> {
    return this.#running!.kill('SIGKILL')
  }

  /** Starts it again on its data; resolves when it serves, which takes a majority. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start(this.#cluster)
  }

  /** Whether it answers, and says that it leads. */
  async isLeader(): Promise<boolean> {
    if (!this.runs) return false
    const args = ['--command-timeout=1s', 'endpoint', 'status']
    const line = await runEtcdctl([this], this.#certificates, args).catch(() => '')
    return line.split(', ')[4] === 'true'
  }

  /** Starts a life; the cluster calls this. */
  async start(cluster: string): Promise<void> {
    this.#cluster = cluster
    const scheme = this.#certificates ? 'https' : 'http'
    const client = `${scheme}://127.0.0.1:${this.clientPort}`
    const health = `http://127.0.0.1:${this.#healthPort}`
    const files = this.#certificates
    this.#running = await startProcess(this.#lifetime, {
      command: 'etcd',
      args: [
        `--name=${this.name}`,
        `--data-dir=${this.#data}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${this.peerUrl}`,
        `--initial-advertise-peer-urls=${this.peerUrl}`,
        `--initial-cluster=${cluster}`,
        `--listen-metrics-urls=${health}`,
        // With each write, so that etcd knows at once how large it is.
        ...(this.#quotaBytes > 0
          ? [`--quota-backend-bytes=${this.#quotaBytes}`, '--backend-batch-limit=1']
          : []),
        '--logger=zap',
        '--log-level=warn',
        ...(files
          ? [
              '--client-cert-auth',
              `--trusted-ca-file=${files.ca}`,
              `--cert-file=${files.cert}`,
              `--key-file=${files.key}`,
            ]
          : []),
      ],
      readyWithinMs: 60_000,
      readyWhen: { probe: () => isHealthy(`${health}/health`) },
    })
  }

  /** Where the other members find it. */
  get peerUrl(): string {
    return `http://127.0.0.1:${this.peerPort}`
  }

  /** Puts a snapshot in the place of its data; the cluster calls this, while the member does not run. */
  async replaceData(file: string, cluster: string, token: string): Promise<void> {
    rmSync(this.#data, { recursive: true, force: true })
    await runProgram(
      [
        'etcdctl',
        'snapshot',
        'restore',
        file,
        `--name=${this.name}`,
        `--data-dir=${this.#data}`,
        `--initial-cluster=${cluster}`,
        `--initial-advertise-peer-urls=${this.peerUrl}`,
        `--initial-cluster-token=${token}`,
      ],
      version3,
    )
  }
}

const version3 = { env: { ETCDCTL_API: '3' } }

function initialCluster(members: readonly EtcdMember[]): string {
  return members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',')
}

function runEtcdctl(
  members: readonly EtcdMember[],
  files: CertificateFiles | undefined,
  args: readonly string[],
): Promise<string> {
  const scheme = files ? 'https' : 'http'
  const endpoints = members.map(({ clientPort }) => `${scheme}://127.0.0.1:${clientPort}`).join(',')
  const tls = files ? [`--cacert=${files.ca}`, `--cert=${files.cert}`, `--key=${files.key}`] : []
  return runProgram(['etcdctl', `--endpoints=${endpoints}`, ...tls, ...args], version3)
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok
  } catch {
    return false
  }
}
