/**
 * The reply to COM_STMT_PREPARE without the parameters that the client does not know: 0x00, the statement, how many columns
 * and parameters it has, a zero, warnings; then the definitions of parameters and of columns, each list with an EOF packet
 * unless these are left out (MySQL's manual, "COM_STMT_PREPARE Response").
 */
import { headerBytes } from './protocol.ts'
import type { ReplyFilter } from './reply-filter.ts'

const parametersAt = headerBytes + 7

/**
 * @param parameters for each parameter of the server's statement whether the client knows it.
 * @param prepared called with the number of the statement; undefined: the server has refused it.
 */
export function prepareFilter(
  parameters: readonly boolean[],
  hasEofPackets: boolean,
  prepared: (statement: number | undefined) => void,
): ReplyFilter {
  const shown = parameters.filter((isShown) => isShown).length
  let packets = 0
  let dropped = 0
  return {
    form: 'prepare',
    receives: 'all',
    packet(bytes) {
      const index = packets++ - 1
      if (index < 0) {
        const isPrepared = bytes[headerBytes] === 0
        prepared(isPrepared ? bytes.readUInt32LE(headerBytes + 1) : undefined)
        if (!isPrepared) return bytes
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
