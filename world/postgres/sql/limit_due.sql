-- Whether there is news of limits, when the first key of a rate is to be looked at, and the time. Indexes limit_news_pkey, limit_keys_due.
SELECT EXISTS (SELECT FROM {schema}.limit_news), (SELECT k.due FROM {schema}.limit_keys k WHERE k.due IS NOT NULL ORDER BY k.due LIMIT 1), clock_timestamp()
