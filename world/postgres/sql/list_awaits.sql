-- The steps of a run that wait for the ends of others, and these. Indexes runs_id, awaits_waiter.
SELECT a.step, t.id FROM {schema}.runs r JOIN {schema}.awaits a ON a.waiter = r.key JOIN {schema}.runs t ON t.key = a.target WHERE r.ns = 0 AND r.id = $1::text
