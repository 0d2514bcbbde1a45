-- Workers: alive ones, as list_workers has it, those whose lease ended over a minute ago while they hold something, and the one whose clock is farthest from the database's.
SELECT count(*) FILTER (WHERE w.ended IS NULL AND w.until > clock_timestamp() - CASE WHEN w.holds THEN 0 ELSE $1::bigint END * interval '1 microsecond'),
       count(*) FILTER (WHERE w.until < clock_timestamp() - interval '1 minute' AND w.holds),
       coalesce((array_agg(w.name ORDER BY abs(w.skew_ns::numeric) DESC))[1], ''), coalesce((array_agg(w.skew_ns ORDER BY abs(w.skew_ns::numeric) DESC))[1], 0)
FROM (SELECT w.*, EXISTS (SELECT FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT FROM {schema}.tasks t WHERE t.worker = w.key) AS holds
  FROM {schema}.workers w OFFSET 0) w
