-- The tables of the schema: rows that live and that are dead, bytes with indexes, and whether autovacuum may look at each.
SELECT s.relname::text, s.n_live_tup, s.n_dead_tup, pg_catalog.pg_total_relation_size(s.relid),
       NOT coalesce('autovacuum_enabled=false' = ANY (c.reloptions), false), s.last_autovacuum
FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
WHERE s.schemaname = $1 ORDER BY s.relname
