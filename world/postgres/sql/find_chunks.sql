-- A batch that may have been written already. Index chunks_pkey.
SELECT idx FROM {schema}.chunks WHERE run = $1::bigint AND stream = $2::text AND step = $3::text AND attempt = $4::integer AND pos = $5::bigint
