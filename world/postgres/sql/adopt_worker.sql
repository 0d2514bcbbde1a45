-- A worker that lives behind servers goes on through this one, which may have other lanes than those before it. Who
-- buries the worker waits meanwhile, and closes them too. Index workers_id_key.
WITH alive AS (SELECT key, name, build, classes, steps, lease_ns, until FROM {schema}.workers WHERE id = $1::text AND remote AND ended IS NULL FOR SHARE),
lanes AS (INSERT INTO {schema}.lanes (worker, lane) SELECT key, lane FROM alive, unnest($2::smallint[]) lane ON CONFLICT DO NOTHING)
SELECT key, name, build, classes, steps, lease_ns, until FROM alive
