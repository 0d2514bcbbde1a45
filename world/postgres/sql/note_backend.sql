-- Which process of the server writes on a lane of workers. By key.
UPDATE {schema}.lanes SET pid = $3::integer WHERE worker = ANY($1::bigint[]) AND lane = $2::smallint
