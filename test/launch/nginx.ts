/**
 * nginx in front of a fleet, set as a careful operator would for ids.
 *
 * Round robin over connections that are kept open. A request for ids may go to a second node, even if the first
 * may have served it: that leaves a gap. Other changes are not repeated once they were sent.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { type RunningProcess, requireProgram, startProcess } from './process.ts'

/** Base URLs of the nodes' HTTP ports. Debian's nginx passes no plain TCP on: that takes a module of its own. */
export type NginxOptions = {
  readonly http: { readonly backends: readonly string[] }
  /** Keeps every answer for an hour that does not forbid it, whatever its status. */
  readonly cache?: boolean
}

/** A load balancer under test. */
export type Nginx = {
  readonly httpPort: number
  readonly process: RunningProcess
  /**
   * Sends what comes from now on to these nodes. Requests under way are finished; resolves when new processes
   * take the connections. Idle connections of clients are closed, as nginx does.
   */
  reload(backends: readonly string[]): Promise<void>
}

const startedWorker = /start worker process (\d+)$/gm

/** Starts nginx on a free loopback port. Its answers name the node that gave them in `x-upstream`. */
export async function startNginx(lifetime: Lifetime, options: NginxOptions): Promise<Nginx> {
  const folder = temporaryFolder(lifetime)
  const httpPort = await freePort()
  const file = join(folder, 'nginx.conf')
  const configure = (backends: readonly string[]) => {
    writeFileSync(`${file}.new`, configuration(folder, httpPort, backends, options.cache === true))
    renameSync(`${file}.new`, file)
  }
  configure(options.http.backends)
  const running = await startProcess(lifetime, {
    command: requireProgram('nginx'),
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    readyWhen: { line: /start worker process \d+$/ },
  })
  return {
    httpPort,
    process: running,
    async reload(backends) {
      const before = lastWorker(running)
      const complaintsBefore = complaints(running)
      configure(backends)
      process.kill(running.pid, 'SIGHUP')
      while (lastWorker(running) === before) {
        if (running.exit() || complaints(running) > complaintsBefore) {
          throw new Error(`nginx did not take the new configuration:\n${running.output()}`)
        }
        await pause(5)
      }
    },
  }
}

function lastWorker(running: RunningProcess): string | undefined {
  return [...running.output().matchAll(startedWorker)].at(-1)?.[1]
}

function complaints(running: RunningProcess): number {
  return running.output().split('[emerg]').length
}

function configuration(
  folder: string,
  httpPort: number,
  backends: readonly string[],
  cache: boolean,
): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
pid ${join(folder, 'pid')};
error_log stderr notice;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 4096; }
http {
  access_log off;
  ${places.map((place) => `${place}_temp_path ${join(folder, place)};`).join('\n  ')}
  # Of all that were tried, the one that answered.
  map $upstream_addr $answered { ~([^\\s,]+)$ $1; }
  upstream fleet {
    # No node is set aside for failing: a 503 for one generator says nothing about the others, and while
    # a shared database is away all nodes would be set aside, with their buffered ids.
    ${backends.map((url) => `server ${new URL(url).host} max_fails=0;`).join('\n    ')}
    keepalive 256;
    keepalive_requests 1000000;
  }
  ${cache ? `proxy_cache_path ${join(folder, 'cache')} keys_zone=kept:1m;` : ''}
  server {
    ${cache ? 'proxy_cache kept; proxy_cache_valid any 1h; proxy_cache_methods GET HEAD POST;' : ''}
    listen 127.0.0.1:${httpPort} backlog=4096;
    keepalive_requests 1000000;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_connect_timeout 1s;
    proxy_read_timeout 5s;
    proxy_next_upstream_tries ${backends.length};
    proxy_next_upstream_timeout 10s;
    add_header x-upstream $answered always;
    location / {
      proxy_pass http://fleet;
      proxy_next_upstream error timeout http_503;
    }
    location ~ ^/v1/generators/[^/]+/(next|range)$ {
      proxy_pass http://fleet;
      proxy_next_upstream error timeout http_503 non_idempotent;
    }
  }
}
`
}
