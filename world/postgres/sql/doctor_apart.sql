-- Values kept apart: how many are held, how many of these have no first piece, and how many have pieces and no holder. Both tables, on purpose, by keys: no
-- piece is read.
SELECT (SELECT count(*) FROM {schema}.apart),
       (SELECT count(*) FROM {schema}.apart a WHERE NOT EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = a.value AND p.number = 0)),
       (SELECT count(DISTINCT p.value) FROM {schema}.apart_pieces p WHERE NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = p.value))
