-- As lock_merged, for several keys.
SELECT pg_advisory_xact_lock(hashtext($n${schema}/merged$n$), hashtext($1::text || '/' || k.idem)) FROM (SELECT idem FROM unnest($2::text[]) u (idem) ORDER BY idem) k
