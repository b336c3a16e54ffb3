/** Writes the reference page of the commands: `npm run docs`. */
import { writeFile } from 'node:fs/promises'
import { referencePage, renderCommandReference } from './reference.ts'

await writeFile(referencePage, renderCommandReference())
