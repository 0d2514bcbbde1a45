-- Runs go on in a new segment, which awaits nothing yet; the children of the ones before are their children still. Indexes awaits_waiter, runs_pkey.
DELETE FROM {schema}.awaits a USING {schema}.runs w
WHERE a.waiter = ANY($1::bigint[]) AND w.key = a.waiter
  AND NOT EXISTS (SELECT 1 FROM {schema}.runs c WHERE c.key = a.target AND coalesce(c.parent_run, '') = w.id)
