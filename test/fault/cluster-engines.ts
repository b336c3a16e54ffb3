/** The engines that a cluster can stand on, for campaigns that every one of them must pass. */
import { type EtcdCluster, startEtcd } from '../launch/etcd.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { databases } from './databases.ts'

/** A running engine, with room for many clusters one after another. */
export type ClusterEngine = {
  /** The URL of an unused store. */
  readonly newPlace: () => Promise<string>
  /** The ports of its servers, as they stand in the URLs. */
  readonly ports: readonly number[]
}

/** Each by its name. */
export const clusterEngines: Readonly<Record<string, (lifetime: Lifetime) => Promise<ClusterEngine>>> = {
  etcd: async (lifetime) => onEtcd(await startEtcd(lifetime)),
  ...Object.fromEntries(
    Object.entries(databases).map(([name, start]) => [
      name,
      async (lifetime: Lifetime): Promise<ClusterEngine> => {
        const server = await start(lifetime)
        return { newPlace: () => server.newDatabase(), ports: [server.port] }
      },
    ]),
  ),
}

/** An etcd that the campaign holds in its own hands. */
export function onEtcd(etcd: EtcdCluster): ClusterEngine {
  let places = 0
  return {
    newPlace: async () => etcd.url(`place${++places}`),
    ports: etcd.members.map(({ clientPort }) => clientPort),
  }
}
