/** nginx with the files of a page in its `http` block. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Lifetime } from '../../launch/lifetime.ts'
import { requireProgram, startProcess } from '../../launch/process.ts'

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
const startedWorker = /start worker process (\d+)$/gm

/** Starts it with every `.conf` in `folder`. `reload` resolves when new processes take the connections. */
export async function startBalancer(
  lifetime: Lifetime,
  folder: string,
  port: number,
): Promise<{ reload: () => Promise<void> }> {
  for (const place of temporary) mkdirSync(join(folder, place))
  const main = join(folder, 'nginx')
  writeFileSync(
    main,
    `daemon off; pid ${join(folder, 'nginx.pid')}; error_log stderr notice; worker_processes 1;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      access_log off;
      ${temporary.map((place) => `${place}_temp_path ${join(folder, place)};`).join(' ')}
      include ${folder}/*.conf;
    }`,
  )
  const running = await startProcess(lifetime, {
    command: requireProgram('nginx'),
    args: ['-p', folder, '-c', main, '-e', 'stderr'],
    readyWhen: { port },
  })
  const workers = () => [...running.output().matchAll(startedWorker)].length
  return {
    async reload() {
      const before = workers()
      process.kill(running.pid, 'SIGHUP')
      while (workers() === before) {
        const ended = running.exit() ?? running.output().includes('[emerg]')
        if (ended) throw new Error(`nginx did not take the page's files:\n${running.output()}`)
        await pause(5)
      }
    },
  }
}
