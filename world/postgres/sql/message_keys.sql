-- Messages of a queue to be purged or moved back: all, or dead letters; of these alone, null: of all.
SELECT m.key FROM {schema}.messages m WHERE m.queue = $1 AND (m.dead OR NOT $2::boolean) AND ($3::bigint[] IS NULL OR m.key = ANY($3)) ORDER BY m.key LIMIT $4::bigint
