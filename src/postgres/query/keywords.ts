/** PostgreSQL's key words (PostgreSQL's manual, appendix C). */
import { keywordsFacts } from './facts/keywords.ts'

/** A key word, and where it is no plain name. */
export type Keyword = {
  readonly word: string
  /** U: a name everywhere; C: no function or type; T: no column or table; R: reserved. */
  readonly category: string
  /** Whether it labels a column without AS. */
  readonly isBareLabel: boolean
}

/** Every key word. */
export const keywords: readonly Keyword[] = keywordsFacts
  .trim()
  .split(/[\n;]/)
  .map((line) => {
    const [word = '', category = '', bare] = line.split(' ')
    return { word, category, isBareLabel: bare === '1' }
  })

function wordsOf(admits: (keyword: Keyword) => boolean): ReadonlySet<string> {
  return new Set(keywords.filter(admits).map(({ word }) => word))
}

/** Words that name neither a column nor a table unless quoted. */
export const reservedWords: ReadonlySet<string> = wordsOf(({ category }) => category === 'R')

/** Words that cannot name a column or a table unless quoted, but can name a function. */
export const functionWords: ReadonlySet<string> = wordsOf(({ category }) => category === 'T')

/** Words that can name a column or a table, but no function. */
export const columnWords: ReadonlySet<string> = wordsOf(({ category }) => category === 'C')

/** Words that cannot label a column without AS. */
export const noBareLabels: ReadonlySet<string> = wordsOf(({ isBareLabel }) => !isBareLabel)
