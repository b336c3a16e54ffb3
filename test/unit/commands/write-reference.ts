/** Writes the reference pages of commands and permissions: `npm run docs`. */
import { writeFile } from 'node:fs/promises'
import { permissionsPage, renderPermissions } from '../docs/permissions.ts'
import { referencePage, renderCommandReference } from './reference.ts'

await writeFile(referencePage, renderCommandReference())
await writeFile(permissionsPage, await renderPermissions())
