-- Deletes messages without a group, and without limits, whose receipt holds, but for those that others have locked; ack_messages says of the rest what became of it. It waits for nobody.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i FROM {schema}.messages m JOIN unnest($1::bigint[], $2::integer[]) WITH ORDINALITY a(key, fence, i) ON m.key = a.key AND m.fence = a.fence
  WHERE m.held AND m.grp IS NULL AND m.places IS NULL FOR UPDATE OF m SKIP LOCKED)
DELETE FROM {schema}.messages m USING l WHERE m.key = l.key RETURNING l.i
