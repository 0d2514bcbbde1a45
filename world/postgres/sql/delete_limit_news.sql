-- News that was read. By key.
DELETE FROM {schema}.limit_news n USING unnest($1::text[], $2::smallint[], $3::bigint[]) a(key, kind, id) WHERE n.key = a.key AND n.kind = a.kind AND n.id = a.id
