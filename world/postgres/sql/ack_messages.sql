-- Deletes messages whose receipt holds. Locked in order, so that those who settle the same ones wait, and that is all.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i FROM {schema}.messages m JOIN unnest($1::bigint[], $2::integer[]) WITH ORDINALITY a(key, fence, i) ON m.key = a.key AND m.fence = a.fence
  WHERE m.held ORDER BY m.key FOR UPDATE OF m)
DELETE FROM {schema}.messages m USING l WHERE m.key = l.key RETURNING l.i, m.queue, m.grp IS NOT NULL OR m.places IS NOT NULL
