-- Makes the queue of a subscription. One that is there stays as it is.
INSERT INTO {schema}.queues (name, visibility_ns, max_receives) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING
