-- A worker is found to be gone ($2: 'died' or 'left'), unless the cause ($3) no longer holds; see clock.limits for $6 to $8. By key; indexes queue_owner, tasks_held.
UPDATE {schema}.workers w SET ended = $2
WHERE key = $1 AND ended IS NULL AND CASE $3
  WHEN 'left' THEN true
  WHEN 'lease' THEN until < clock_timestamp() AND (until < $6::timestamptz OR $6 IS NULL) -- a step of this clock that who asks has not seen
    AND (until >= $7::timestamptz OR $7 IS NULL OR until < clock_timestamp() - $8::bigint * interval '1 microsecond') -- and one that it has
    AND (until < clock_timestamp() - $4::bigint * interval '1 microsecond'
    OR {holds})
  WHEN 'session' THEN session AND NOT EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $5::integer::oid AND l.objid = (w.key % 2147483648)::integer::oid AND l.objsubid = 2
      AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  END
