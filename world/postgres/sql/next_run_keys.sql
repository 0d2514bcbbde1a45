-- Keys of runs, some at a time: they grow, and those that are not used are nobody's.
SELECT nextval('{schema}.run_keys') FROM generate_series(1, $1::integer)
