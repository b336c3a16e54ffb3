/** Clients that are programs of other languages: they read the steps as JSON, and print a line of JSON for each. */
import { runProgram } from '../launch/program.ts'
import type { Report, Subject } from './report.ts'
import { steps } from './steps.ts'

/** A program under test; its command's last word names the driver, and how it is set. */
export function program(
  name: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Subject {
  return {
    name,
    async run(url) {
      const { hostname, port, username, password, pathname } = new URL(url)
      const address = {
        ...{ DB_HOST: hostname, DB_PORT: port, DB_USER: username, DB_PASSWORD: password },
        DB_NAME: pathname.slice(1),
      }
      const output = await runProgram(command, { env: { ...address, ...env }, input: JSON.stringify(steps) })
      return output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line): Report => JSON.parse(line))
    },
  }
}
