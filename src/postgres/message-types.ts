/** The messages of clients by their types. https://www.postgresql.org/docs/15/protocol-message-formats.html */

const letter = (text: string) => text.charCodeAt(0)

/** The byte with which each message begins. */
export const messageTypes = Object.freeze({
  bind: letter('B'),
  close: letter('C'),
  describe: letter('D'),
  execute: letter('E'),
  call: letter('F'),
  flush: letter('H'),
  parse: letter('P'),
  query: letter('Q'),
  sync: letter('S'),
  terminate: letter('X'),
  copyData: letter('d'),
  copyDone: letter('c'),
  copyFail: letter('f'),
})
