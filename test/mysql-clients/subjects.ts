/** The clients that need nothing but Node and packages of Debian. */
import { join } from 'node:path'
import { cliSubject } from './cli.ts'
import { mysql2Subjects } from './mysql2.ts'
import { program } from './programs.ts'
import type { Subject } from './report.ts'

const php = join(import.meta.dirname, 'php', 'cases.php')
const python = join(import.meta.dirname, 'python', 'cases.py')

/** In the order of the table of the documentation. */
export const subjects: readonly Subject[] = [
  cliSubject,
  ...mysql2Subjects,
  program('PHP PDO, emulated prepares', ['php', php, 'pdo-emulated']),
  program('PHP PDO, native prepares', ['php', php, 'pdo-native']),
  program('PHP mysqli', ['php', php, 'mysqli']),
  // Debian's Python, which has the drivers, rather than the first one of the path.
  program('PyMySQL 1.0', ['/usr/bin/python3', python, 'pymysql']),
  program('mysqlclient 1.4', ['/usr/bin/python3', python, 'mysqldb']),
]
