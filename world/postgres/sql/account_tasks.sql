-- The tasks of a worker. Indexes tasks_held, runs_pkey.
SELECT r.id, t.step, t.attempt FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run WHERE t.worker = $1
