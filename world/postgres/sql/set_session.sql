-- How this session's statements are planned: row by row through indexes, on one core, without a compiler; and that each sees what was committed before
-- it, whatever the role's default. A plan is made once a session: for arrays of one or two a plan for their values always looks cheaper, and making it costs
-- ten times what the statement does. Not for use behind a pooler.
SELECT set_config(name, 'off', false) FROM unnest('{enable_seqscan,enable_bitmapscan,enable_hashjoin,enable_mergejoin,jit}'::text[]) name
UNION ALL SELECT set_config('max_parallel_workers_per_gather', '0', false)
UNION ALL SELECT set_config('default_transaction_isolation', 'read committed', false)
UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', false)
