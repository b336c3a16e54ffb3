/**
 * Which numbers of senders were used. A sender counts from 1, and its numbers arrive out of order.
 *
 * Invariants
 *  1. A number of a sender is taken once.
 *  2. Of a sender, the `window` numbers up to the highest are remembered. Lower ones are refused.
 *  3. At most `sendersMax` senders are remembered: the one that has been silent for longest is forgotten.
 */

/** More than are on their way to a node at once, and slow ones among them. */
const window = 65_536
const sendersMax = 1024

type Sender = { highest: number; readonly bits: Uint8Array }

/** The numbers of all senders. */
export class UsedNumbers {
  /** The one that was silent for longest is first. */
  readonly #senders = new Map<string, Sender>()

  /** Whether the number was unused; it is used from then on. */
  take(name: string, number: number): boolean {
    if (!Number.isSafeInteger(number) || number < 1) return false
    const sender = this.#senders.get(name) ?? { highest: 0, bits: new Uint8Array(window / 8) }
    this.#remember(name, sender)
    if (number > sender.highest) advance(sender, number)
    else if (number <= sender.highest - window || isUsed(sender, number)) return false
    const at = number % window
    sender.bits[at >> 3]! |= 1 << (at & 7)
    return true
  }

  #remember(name: string, sender: Sender): void {
    this.#senders.delete(name)
    this.#senders.set(name, sender)
    if (this.#senders.size <= sendersMax) return
    for (const silent of this.#senders.keys()) {
      this.#senders.delete(silent)
      return
    }
  }
}

/** Makes this number the highest: those between are unused. */
function advance(sender: Sender, number: number): void {
  if (number - sender.highest >= window) sender.bits.fill(0)
  else
    for (let each = sender.highest + 1; each <= number; each++) {
      const at = each % window
      sender.bits[at >> 3]! &= ~(1 << (at & 7))
    }
  sender.highest = number
}

function isUsed({ bits }: Sender, number: number): boolean {
  const at = number % window
  return (bits[at >> 3]! & (1 << (at & 7))) !== 0
}
