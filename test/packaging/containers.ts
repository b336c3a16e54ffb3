/**
 * The containers that Dockerfile, compose.yaml and the plain manifests of Kubernetes describe, and their processes: the
 * image's entry point with the arguments and variables of a container, on ports and folders of a test.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { EtcdCluster } from '../launch/etcd.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { RawClient } from '../launch/raw-client.ts'
import type { RawReply } from '../launch/raw-reply.ts'

/** The repository. */
export const root = join(import.meta.dirname, '..', '..')
/** The password of `admin`, which is in a secret or in .env. */
export const password = 'a password of tests'

type Variables = Readonly<Record<string, string>>

/** What runs in a container, as written: with the addresses and folders that it has there. */
export type Container = { readonly name: string; readonly env: Variables; readonly args: readonly string[] }

/** Instructions of the last stage of the Dockerfile. */
export type Image = {
  readonly env: Variables
  readonly entryPoint: readonly string[]
  readonly args: readonly string[]
  readonly health: readonly string[]
  readonly user: string
}

/** The image, as the Dockerfile describes it. */
export function readImage(): Image {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ').split('\n')
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const rest = (instruction: string) =>
    stage.find((line) => line.startsWith(`${instruction} `))?.slice(instruction.length + 1) ?? ''
  const list = (text: string): string[] => JSON.parse(text.slice(text.indexOf('[')))
  const env = rest('ENV')
    .split(/\s+/)
    .map((pair) => pair.split('=') as [string, string])
  return {
    env: Object.fromEntries(env),
    entryPoint: list(rest('ENTRYPOINT')),
    args: list(rest('CMD')),
    health: list(rest('HEALTHCHECK')),
    user: rest('USER'),
  }
}

type Service = {
  readonly image: string
  readonly profiles: readonly string[]
  readonly environment?: Variables
  readonly command?: readonly string[]
}

/** The services of compose.yaml, by name, with the variables of .env put in. */
function readCompose(): Readonly<Record<string, Service>> {
  const variables: Variables = { FAHAO_ADMIN_PASSWORD: password, MARIADB_PASSWORD: 'secret' }
  const text = readFileSync(join(root, 'compose.yaml'), 'utf8').replaceAll(
    /\$\{(\w+):([-?])([^}]*)\}/g,
    (_, name: string, kind: string, otherwise: string) => {
      const value = variables[name] ?? (kind === '-' ? otherwise : undefined)
      if (value === undefined) throw new Error(`compose.yaml needs ${name}: ${otherwise}`)
      return value
    },
  )
  return parse(text, { merge: true }).services
}

/** The URL of the database of compose.yaml. */
export const mariaDbUrl = 'mysql://fahao:secret@mariadb:3306/fahao'

/** Where the members of compose.yaml's etcd are. Throws if they are not as many. */
export function composeNames(etcd: EtcdCluster): Variables {
  const services = Object.values(readCompose())
  const members = services.filter(({ image }) => image === 'fahao-etcd').length
  if (members !== etcd.members.length) throw new Error(`compose.yaml has ${members} members of etcd`)
  return Object.fromEntries(
    etcd.members.map(({ clientPort }, at) => [`etcd-${at + 1}:2379`, `127.0.0.1:${clientPort}`]),
  )
}

/** The nodes of a profile of compose.yaml. */
export function composeNodes(profile: string): Container[] {
  return Object.entries(readCompose())
    .filter(([, { image, profiles }]) => image === 'fahao' && profiles.includes(profile))
    .map(([name, { environment = {}, command }]) => ({
      name,
      env: environment,
      args: command ?? readImage().args,
    }))
}

/** An object of Kubernetes, as far as tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: a manifest has the form of its kind
export type Manifest = { readonly kind: string; readonly metadata: any; readonly spec: any }

/** The objects of a plain manifest. */
export function readManifest(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(join(root, 'packaging', 'kubernetes', file), 'utf8'))
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
}

type Variable = {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly secretKeyRef?: { readonly name: string }
  }
}

/** The pods of the workload of a plain manifest; `secrets` has the value of each secret by name. */
export function podsOf(manifests: readonly Manifest[], secrets: Variables): Container[] {
  const { metadata, spec } = manifests.find(({ kind }) => /^(?:StatefulSet|Deployment)$/.test(kind))!
  const [container] = spec.template.spec.containers
  return Array.from({ length: spec.replicas }, (_, ordinal) => {
    const name = `${metadata.name}-${ordinal}`
    const fields: Variables = { 'status.podIP': `10.0.0.${ordinal + 1}` }
    const env: Record<string, string> = {}
    for (const { name, value, valueFrom } of container.env as Variable[]) {
      const given =
        value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? secrets[valueFrom?.secretKeyRef?.name ?? '']
      if (given === undefined) throw new Error(`${metadata.name} has no value for ${name}`)
      env[name] = given.replaceAll(/\$\((\w+)\)/g, (reference, name: string) => env[name] ?? reference)
    }
    return { name, env, args: container.args }
  })
}

/** Where a container is on this machine: its ports, its folder, and what stands in the place of names of other servers. */
export type Place = {
  readonly resp: number
  readonly http: number
  readonly names: Variables
  /** Default: /data, as in the container. */
  readonly data?: string
}

/** The variables of a container with the image's own, moved to a place on this machine. */
export function variablesAt({ env }: Container, { resp, http, names, data = '/data' }: Place): Variables {
  const moved: [string, string][] = [
    ...Object.entries(names),
    ['0.0.0.0:7379', `127.0.0.1:${resp}`],
    ['0.0.0.0:7380', `127.0.0.1:${http}`],
    ['/data/', `${data}/`],
  ]
  // The names of the nodes themselves are in each node's own variables.
  const announced: Variables = {
    FAHAO_ANNOUNCE: `127.0.0.1:${resp}`,
    FAHAO_ANNOUNCE_HTTP: `127.0.0.1:${http}`,
  }
  const put = (name: string, value: string) =>
    announced[name] ?? moved.reduce((text, [from, to]) => text.replaceAll(from, to), value)
  const all = Object.entries({ ...readImage().env, ...env })
  return Object.fromEntries(all.map(([name, value]) => [name, put(name, value)]))
}

/** A container that runs as a process of this machine. */
export type Running = {
  readonly name: string
  readonly process: RunningProcess
  readonly resp: number
  readonly http: string
  /** The exit code of the image's health check. */
  health(): Promise<number>
}

/** Starts containers together as processes; resolves when each answers over HTTP. */
export function startContainers(
  lifetime: Lifetime,
  containers: readonly Container[],
  names: Variables = {},
): Promise<Running[]> {
  return Promise.all(containers.map((container) => startContainer(lifetime, container, names)))
}

async function startContainer(lifetime: Lifetime, container: Container, names: Variables): Promise<Running> {
  const image = readImage()
  const [resp, http] = [await freePort(), await freePort()]
  const env = variablesAt(container, { resp, http, names, data: temporaryFolder(lifetime) })
  const check = image.health.map(onThisMachine)
  const health = () => exitCode(check, env)
  const [command = '', ...args] = [...image.entryPoint, ...container.args].map(onThisMachine)
  const process = await startProcess(lifetime, {
    command,
    args,
    env,
    cwd: temporaryFolder(lifetime),
    readyWhen: { probe: () => answers(`http://127.0.0.1:${http}/healthz`) },
    readyWithinMs: 60_000,
  })
  return { name: container.name, process, resp, http: `http://127.0.0.1:${http}`, health }
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** A word of a command of the image, as it is in this repository. */
function onThisMachine(word: string): string {
  if (word === 'node') return process.execPath
  return word
    .replace('/opt/fahao/dist/', `${join(root, 'dist')}/`)
    .replace('/opt/fahao/', `${join(root, 'packaging', 'image')}/`)
}

function exitCode([command = '', ...args]: readonly string[], env: Variables): Promise<number> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { env: { ...process.env, ...env } }, () =>
      resolve(child.exitCode ?? -1),
    )
  })
}

/** The next ids of `order` from each node in turn, which is created first, over RESP as `admin`. */
export async function idsOfOrder(lifetime: Lifetime, ports: readonly number[]): Promise<RawReply[]> {
  const ids: RawReply[] = []
  for (const port of ports) {
    const client = await RawClient.connect(port, lifetime)
    await client.command('AUTH', 'admin', password)
    await client.command('ID.CREATE', 'order', 'KIND', 'sequence')
    ids.push(await client.command('INCR', 'order'))
  }
  return ids
}
