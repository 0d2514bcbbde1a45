-- How this session's statements are planned: row by row through indexes, on one core, without a compiler. Not for use behind a pooler.
SELECT set_config(name, 'off', false) FROM unnest('{enable_seqscan,enable_bitmapscan,enable_hashjoin,enable_mergejoin,jit}'::text[]) name
UNION ALL SELECT set_config('max_parallel_workers_per_gather', '0', false)
