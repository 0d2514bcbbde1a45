-- Rows of lines where nobody stands any more. By key: ANY of one leaves no other way, also for a plan of when nobody stood in line.
DELETE FROM {schema}.limit_line l USING unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) a(key, urgency, place, run)
WHERE l.key = ANY(ARRAY[a.key]) AND l.urgency = a.urgency AND l.place = a.place AND l.run = a.run
