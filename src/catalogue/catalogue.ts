/** Which generators exist. */
export type Catalogue = {}
