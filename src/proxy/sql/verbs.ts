/** Verbs of statements, by what is done with them. */

/** Statements that may insert into a filled table. */
export const inserting = new Set(['INSERT', 'REPLACE'])
/** Statements that begin so may contain statements of others. */
export const wrappers = new Set(['LOAD', 'ANALYZE', 'EXPLAIN', 'DESCRIBE', 'DESC'])
/** Compound statements, which MariaDB runs outside of procedures too. */
export const compounds = new Set(['IF', 'CASE', 'LOOP', 'WHILE', 'REPEAT', 'FOR', 'DECLARE'])
/** Statements that define or drop. */
export const definitions = new Set(['CREATE', 'ALTER', 'DROP', 'RENAME'])
/** Statements in which no other stands. */
export const plain = new Set(
  `SELECT UPDATE DELETE TABLE VALUES WITH COMMIT ROLLBACK START SAVEPOINT RELEASE LOCK UNLOCK SHOW HELP TRUNCATE GRANT REVOKE
  FLUSH PURGE RESET OPTIMIZE REPAIR CHECK CHECKSUM KILL DO HANDLER DEALLOCATE XA CACHE INSTALL UNINSTALL BINLOG CHANGE STOP
  IMPORT CLONE BACKUP USE CALL SIGNAL RESIGNAL GET SHUTDOWN RESTART`.split(/\s+/),
)
