-- New runs have the keys of their singletons, behind others. By key. A key that a stranger has just taken fails: index queue_single.
UPDATE {schema}.queue q SET single = b.single, behind = b.behind FROM unnest($1::bigint[], $2::text[], $3::text[]) b(run, single, behind) WHERE q.run = b.run
