/**
 * Writes the facts about PostgreSQL's own catalogues, `src/postgres/query/facts/*.ts`, as a server of PostgreSQL 15 has them:
 * `node scripts/postgres-facts.ts postgres://…`. The server needs a fresh database.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'

const folder = join(import.meta.dirname, '../src/postgres/query/facts')
const client = new Client({ connectionString: process.argv[2] })

const relations = `
  SELECT CASE nspname WHEN 'pg_catalog' THEN '' ELSE 'i' END || c.oid || '|' || relname || '|' || relkind::text || '|' || reltype || '|' || coalesce(t.typarray, 0) || '|' ||
    (SELECT string_agg(attname || ':' || at.typname || CASE WHEN attnotnull THEN '!' ELSE '' END || CASE attcollation WHEN 100 THEN '%' ELSE '' END, ' ' ORDER BY attnum)
     FROM pg_attribute a JOIN pg_type at ON at.oid = atttypid WHERE attrelid = c.oid AND attnum > 0) AS line
  FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace LEFT JOIN pg_type t ON t.oid = reltype
  WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v') ORDER BY n.oid, relname`

const types = `
  SELECT concat_ws(' ', CASE nspname WHEN 'pg_catalog' THEN '' ELSE 'i' END || t.oid, typname, typlen, typbyval::int, typtype,
    typcategory, typispreferred::int, typdelim, typelem, typarray, typbasetype, typtypmod, typcollation, typalign, typstorage,
    typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typsubscript::oid) AS line
  FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
  WHERE nspname IN ('pg_catalog', 'information_schema') AND typrelid = 0
    AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typrelid <> 0 AND e.typarray = t.oid)
  ORDER BY t.oid`

const functions = `
  SELECT concat_ws('|', p.oid, proname, prorettype, proargtypes::text, provolatile, proisstrict::int) AS line
  FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND (proname = ANY ($1) OR p.oid IN (
    SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout, typsubscript]::oid[]) FROM pg_type))
  ORDER BY p.oid`

const keywords = `SELECT concat_ws(' ', word, catcode::text, barelabel::int) AS line FROM pg_get_keywords() ORDER BY word`

await client.connect()
await write(
  'relations',
  relations,
  'Relations: oid (`i`: of information_schema), name, kind, row type, its array type, columns (`!`: not null, `%`: of the default collation).',
)
await write(
  'types',
  types,
  'Types: oid (`i`: of information_schema), then columns of pg_type in the order of `addType`.',
)
await write(
  'functions',
  functions,
  'Functions that read and write values of types, and those of sequences: oid, name, result, arguments, volatility, strictness.',
  [['nextval', 'currval', 'lastval', 'setval']],
)
await write('keywords', keywords, 'Key words: word, category, whether it labels a column without AS.')
await client.end()

async function write(name: string, query: string, title: string, values: unknown[] = []): Promise<void> {
  const { rows } = await client.query<{ line: string }>(query, values)
  const lines: string[] = ['']
  for (const { line } of rows) {
    if (line.length > 300) lines.push(line)
    else if (lines.at(-1)!.length + line.length > 1000) lines.push(line)
    else lines[lines.length - 1] += lines.at(-1) === '' ? line : `;${line}`
  }
  const text = `/** Facts about PostgreSQL 15, written by scripts/postgres-facts.ts. */\n\n/** ${title} */\nexport const ${name}Facts = \`\n${lines.join('\n').replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\n\`\n`
  writeFileSync(join(folder, `${name}.ts`), text)
}
