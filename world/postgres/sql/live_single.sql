-- The live run that has the key of a singleton. Index queue_single.
SELECT r.id FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.single = $1::text
