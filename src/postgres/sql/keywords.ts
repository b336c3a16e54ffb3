/** PostgreSQL's key words that are no plain names (PostgreSQL's manual, appendix C). */

/** Words that name neither a column nor a table. */
const reserved =
  'all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing true union unique user using variadic when where window with'

/** Words that name a function or a type, but neither a column nor a table. */
const functionOrType =
  'authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like natural notnull outer overlaps right similar tablesample verbose'

/** Words that follow an expression and so are no label of a column without AS. */
const noBareLabel =
  'array as char character create day except fetch filter for from grant group having hour in intersect into isnull limit minute month notnull offset on order over overlaps precision returning second to union varying where window with within without year'

/** Words that cannot name a column or a table unless quoted. */
export const reservedWords: ReadonlySet<string> = new Set(reserved.split(' '))

/** Words that cannot name a column or a table unless quoted, but can name a function. */
export const functionWords: ReadonlySet<string> = new Set(functionOrType.split(' '))

/** Words that cannot label a column without AS. */
export const noBareLabels: ReadonlySet<string> = new Set(noBareLabel.split(' '))
