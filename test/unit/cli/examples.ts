/** Reads the examples of help and of reference pages as a shell would. */

/** The arguments after `fahao` of every command line in `text` that starts with it. */
export function fahaoExamples(text: string): string[][] {
  return text
    .split('\n')
    .map((line) => /^(?: {2}|\$ |npx )*fahao (\S.*)$/.exec(line)?.[1])
    .filter((line) => line !== undefined)
    .map((line) => wordsOf(line.split(/ {2,}| [|>#] /)[0]!))
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]!)
}
