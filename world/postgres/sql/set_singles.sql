-- New runs have the keys of their singletons. By key. A key that a stranger has just taken fails: index queue_single.
UPDATE {schema}.queue q SET single = b.single FROM unnest($1::bigint[], $2::text[]) b(run, single) WHERE q.run = b.run
