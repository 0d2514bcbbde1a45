-- The runs of a worker, each with its claim and the number of its last event. Indexes queue_owner, runs_pkey, log_pkey.
SELECT r.id, q.take, coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.owner = $1
