-- A worker that is alive writes its row again, which was lost: nobody has closed its lanes. Whether its lock is there says whether peers may judge by it. By key.
WITH mine AS (SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND alive ORDER BY lane LIMIT 1 FOR SHARE)
INSERT INTO {schema}.workers (key, id, name, build, classes, steps, lease_ns, remote, joined_at, until, session)
SELECT $1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::boolean, now.at, now.at + ($7::bigint / 1000) * interval '1 microsecond', EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $9::integer::oid AND l.objid = ($1::bigint % 2147483648)::integer::oid AND l.objsubid = 2
      AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
FROM mine, (SELECT clock_timestamp() AS at) now
ON CONFLICT DO NOTHING RETURNING joined_at, until
