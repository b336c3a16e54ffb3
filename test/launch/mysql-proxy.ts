/** `fahao proxy` under test. */
import { join } from 'node:path'
import { upstreamOf } from './guards.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort } from './places.ts'
import { accepts, type RunningProcess, startProcess } from './process.ts'

/** How to start it. */
export type MysqlProxyOptions = {
  /** The server behind it: the loopback port of one of ours, or a URL. */
  readonly upstream: number | string
  /** Further flags. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The port of an earlier one, which has ended. Default: a free one. */
  readonly port?: number
}

/** A proxy that runs. */
export type MysqlProxy = { readonly port: number; readonly process: RunningProcess }

const repository = join(import.meta.dirname, '..', '..')

/** Starts a proxy on a free loopback port; resolves when it accepts connections. */
export async function startMysqlProxy(lifetime: Lifetime, options: MysqlProxyOptions): Promise<MysqlProxy> {
  const { upstream, args = [], env, port = await freePort() } = options
  const url = typeof upstream === 'number' ? upstreamOf({ port: upstream }) : upstream
  const entry = join(repository, 'dist', 'fahao.js')
  const running = await startProcess(lifetime, {
    command: process.execPath,
    args: [entry, 'proxy', '--listen', `127.0.0.1:${port}`, '--upstream', url, ...args],
    cwd: repository,
    ...(env && { env }),
    readyWhen: { line: /is ready/ },
  })
  if (!(await accepts(port))) throw new Error(`the proxy does not accept:\n${running.output()}`)
  return { port, process: running }
}

/** A URL of the database server, as it is through the proxy. */
export function through({ port }: MysqlProxy, url: string): string {
  const moved = new URL(url)
  moved.port = String(port)
  return moved.href
}
