-- Workers: alive ones, those whose lease ended over a minute ago while they hold something, and the one whose clock is farthest from the database's.
SELECT count(*) FILTER (WHERE until > clock_timestamp() AND ended IS NULL),
       count(*) FILTER (WHERE until < clock_timestamp() - interval '1 minute'
         AND (EXISTS (SELECT FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT FROM {schema}.tasks t WHERE t.worker = w.key))),
       coalesce((array_agg(name ORDER BY abs(skew_ns) DESC))[1], ''), coalesce((array_agg(skew_ns ORDER BY abs(skew_ns) DESC))[1], 0)
FROM {schema}.workers w
