/** Parts of a text without the rest of it in memory. */

/** V8 makes a copy of shorter parts; a longer one refers to the whole text. */
const copiedMax = 12

/** The same text in memory of its own: a name of 13 letters out of a message of a megabyte would keep the megabyte. */
export function ownText(part: string): string {
  return part.length <= copiedMax ? part : Buffer.from(part).toString()
}
