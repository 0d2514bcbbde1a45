-- Runs have started, have another version, or were paused or resumed by their owners. By key; the rows are locked.
UPDATE {schema}.queue q SET class = a.class, running = a.running, paused = a.paused
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::boolean[]) a(run, class, running, paused) WHERE q.run = a.run
