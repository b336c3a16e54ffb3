/** The permissions that no command of Redis has, for rules of users. */
import type { Subject } from '../auth/command-rules.ts'
import { advanceOperation } from './advance.ts'
import { auditOperation } from './audit.ts'
import { clusterOperations } from './cluster.ts'
import { leaseOperations } from './leases.ts'
import type { Operation } from './operation.ts'
import { tokenOperations } from './tokens.ts'

/** To read the metrics, which are no operation. */
export const metricsPermission = 'http|metrics'

/** To follow what all nodes do, which is no operation either: nodes ask each other for it as its reader. */
export const livePermission = 'http|live'

const declaring: readonly Pick<Operation, 'permissions'>[] = [
  { permissions: { [metricsPermission]: ['read'], [livePermission]: ['read'] } },
  ...clusterOperations,
  advanceOperation,
  ...tokenOperations,
  auditOperation,
  ...leaseOperations,
]

/** As operations declare them. */
export const permissions: readonly Subject[] = declaring.flatMap((operation) =>
  Object.entries(operation.permissions ?? {}).map(([name, categories]) => ({
    name,
    categories,
    isForwarded: name === livePermission,
  })),
)
