#!/usr/bin/env node
/**
 * The program `fahao`. This file imports nothing and uses only old syntax, so that a Node that is too old for the other
 * files can still print an error.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > 22 || (major === 22 && minor >= 18)) {
  const { main } = await import('./main.ts')
  process.exitCode = await main(process.argv)
} else {
  console.error(
    `fahao needs Node 22.18 or later, and this is Node ${process.versions.node}; install a newer one from https://nodejs.org, or use npx fahao inside the repository, which brings its own.`,
  )
  process.exitCode = 1
}
