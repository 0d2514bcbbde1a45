-- News that was read. By key: ANY of one leaves no other way, also for a plan of when there was no news.
DELETE FROM {schema}.limit_news n USING unnest($1::text[], $2::smallint[], $3::bigint[]) a(key, kind, id) WHERE n.key = ANY(ARRAY[a.key]) AND n.kind = a.kind AND n.id = a.id
