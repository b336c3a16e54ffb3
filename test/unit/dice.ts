/** Random choices that a seed repeats. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number from 0 up to below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647
    return Math.floor((this.#state / 2_147_483_647) * limit)
  }

  /** One of the choices. */
  of<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.below(choices.length)]!
  }
}
