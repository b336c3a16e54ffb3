/** Rendered pages, kept because asking for them needs no login and rendering takes long. */

/** How many pages are kept at once. Their keys have the client's Host header: there can be any number of them. */
const pagesMax = 16

/** The rendered pages of one operation, as long as what they show has not changed. */
export class PageCache {
  #shown: readonly unknown[] = []
  readonly #pages = new Map<string, Promise<string>>()

  /**
   * The page of `key`. `shown`: what all pages show; once a part of it differs from the last call's, all are
   * rendered again. Requests that come while `render` runs wait for its page.
   * One that failed is not kept.
   */
  page(shown: readonly unknown[], key: string, render: () => Promise<string>): Promise<string> {
    if (shown.length !== this.#shown.length || shown.some((part, index) => part !== this.#shown[index])) {
      this.#shown = shown
      this.#pages.clear()
    }
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const page = render()
    if (this.#pages.size >= pagesMax) return page
    const pages = this.#pages.set(key, page)
    page.catch(() => {
      if (pages.get(key) === page) pages.delete(key)
    })
    return page
  }
}
