-- Workers: alive ones, as list_workers has it, those whose lease ended over a minute ago while they hold something, and the one whose clock is farthest from the database's.
SELECT count(*) FILTER (WHERE {alive}),
       count(*) FILTER (WHERE w.until < clock_timestamp() - interval '1 minute' AND {holds}),
       coalesce((array_agg(w.name ORDER BY abs(w.skew_ns::numeric) DESC))[1], ''), coalesce((array_agg(w.skew_ns ORDER BY abs(w.skew_ns::numeric) DESC))[1], 0)
FROM {schema}.workers w
