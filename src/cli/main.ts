/** Reads the command line, runs one verb, and turns an error into one sentence and an exit code. */
import { Command } from 'commander'
import { version } from '../node/version.ts'
import { exitCodeAfter, exitCodes } from './exit-codes.ts'
import { refuseRepeats } from './repeats.ts'
import { addAdvise } from './verbs/advise.ts'
import { addAudit } from './verbs/audit.ts'
import { addBackup, addRestore } from './verbs/backup.ts'
import { addAdvance, addLower } from './verbs/bounds.ts'
import { addCluster } from './verbs/cluster.ts'
import { addDecode } from './verbs/decode.ts'
import { addAlter, addCreate, addDrop, addInfo, addList, addNext } from './verbs/generators.ts'
import { addImport } from './verbs/import.ts'
import { addLeases } from './verbs/leases.ts'
import { addNamespace } from './verbs/namespace.ts'
import { addProxy } from './verbs/proxy.ts'
import { addConfig, addServe } from './verbs/serve.ts'
import { addToken } from './verbs/token.ts'
import { addUser } from './verbs/user.ts'

/** The verbs under each heading of the help. */
const groups = {
  'Running a server:': [addServe, addProxy, addConfig, addBackup, addRestore, addImport, addLower],
  'Asking a server:': [
    addNext,
    addCreate,
    addAlter,
    addDrop,
    addList,
    addInfo,
    addLeases,
    addNamespace,
    addUser,
    addToken,
    addCluster,
    addAdvance,
    addAudit,
  ],
  'Working things out:': [addDecode, addAdvise],
}

/** Runs the program; resolves to its exit code. `argv` as in `process.argv`. */
export async function main(argv: readonly string[]): Promise<number> {
  // A reader that closes the pipe, as in `fahao list | head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok.code)
    throw error
  })
  return exitCodeAfter(() => program().parseAsync(argv), argv.includes('--json'))
}

/** Every verb, with its flags and its help. */
export function program(): Command {
  const root = new Command('fahao')
    .description(
      'Unique 64-bit ids, handed out: over Redis’s protocol, over HTTP, and from this command line.',
    )
    .version(version)
    .helpCommand(false)
    // Options behind a verb are those of the verb: `proxy check` has some that `proxy` has too.
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(--help lists verbs and flags)')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false, minWidthToWrap: 20 })
  for (const [heading, verbs] of Object.entries(groups)) {
    root.commandsGroup(heading)
    for (const add of verbs) add(root)
  }
  root.addHelpText('after', epilogue())
  refuseRepeats(root)
  return root
}

function epilogue(): string {
  const codes = Object.values(exitCodes).map(({ code, meaning }) => `  ${code}  ${meaning}`)
  return `
Examples:
  fahao serve                                   RESP on 127.0.0.1:7379, HTTP on 127.0.0.1:7380
  fahao create order --kind sequence
  fahao next order
  fahao next order --count 1000 --json

Exit codes:
${codes.join('\n')}`
}
