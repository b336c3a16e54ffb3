/** Text from a caller, for a message: short, and on one line. */
export function shortened(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return short.replace(/\p{C}/gu, '?')
}
