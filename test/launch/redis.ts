/** Redis itself, for comparison. */
import type { CertificateFiles } from './certificates.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { type RunningProcess, startProcess } from './process.ts'

/** A redis-server of one's own. */
export type RedisServer = RunningProcess & { readonly port: number }

/** How durable it is: without `appendfsync` it keeps nothing. */
export type RedisOptions = {
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  /** It speaks TLS with these, and asks clients for no certificate. */
  readonly tls?: CertificateFiles
}

/** Starts redis-server on a free loopback port, with its data in a temporary folder. */
export async function startRedis(lifetime: Lifetime, options: RedisOptions = {}): Promise<RedisServer> {
  const folder = temporaryFolder(lifetime)
  const port = await freePort()
  const append = options.appendfsync
    ? ['--appendonly', 'yes', '--appendfsync', options.appendfsync]
    : ['--appendonly', 'no']
  const { tls } = options
  const listen = tls
    ? [
        ...['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no'],
        ...['--tls-cert-file', tls.cert, '--tls-key-file', tls.key, '--tls-ca-cert-file', tls.ca],
      ]
    : ['--port', `${port}`]
  const running = await startProcess(lifetime, {
    command: 'redis-server',
    args: [...listen, '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...append],
    readyWhen: { port },
  })
  return { ...running, port }
}
