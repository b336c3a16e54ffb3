/**
 * The reply to COM_STMT_PREPARE without the parameters that the client does not know: 0x00, the statement, how many columns
 * and parameters it has, a zero, warnings; then the definitions of parameters and of columns, each list with an EOF packet
 * unless these are left out (MySQL's manual, "COM_STMT_PREPARE Response").
 */
import { headerBytes } from './protocol.ts'
import type { ReplyFilter } from './replies.ts'

const parametersAt = headerBytes + 7

/**
 * @param parameters for each parameter of the server's statement whether the client knows it.
 * @param prepared called with the number of the statement.
 */
export function prepareFilter(
  parameters: readonly boolean[],
  hasEofPackets: boolean,
  prepared: (statement: number) => void,
): ReplyFilter {
  const shown = parameters.filter((isShown) => isShown).length
  let packets = 0
  let dropped = 0
  return {
    form: 'prepare',
    packet(bytes) {
      const index = packets++ - 1
      if (index < 0) {
        if (bytes[headerBytes] !== 0) return bytes
        prepared(bytes.readUInt32LE(headerBytes + 1))
        bytes.writeUInt16LE(shown, parametersAt)
        return bytes
      }
      // Behind the definitions of parameters, their EOF packet.
      const isListEnd = hasEofPackets && parameters.length > 0 && index === parameters.length
      if (parameters[index] === false || (isListEnd && shown === 0)) {
        dropped++
        return undefined
      }
      bytes[3] = (bytes[3]! - dropped) & 0xff
      return bytes
    },
  }
}
