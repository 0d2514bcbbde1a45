-- Of these messages, those of a held group that has a head wait behind it.
UPDATE {schema}.messages SET visible_at = 'infinity' WHERE key IN (
  SELECT m.key FROM {schema}.messages m JOIN {schema}.message_groups g ON g.queue = m.queue AND g.grp = m.grp AND g.head <> m.key
  JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead
  WHERE m.key = ANY($1::bigint[]) AND m.grp = ANY($2::text[]) AND m.visible_at < 'infinity' AND NOT m.dead FOR UPDATE OF m SKIP LOCKED)
