-- Makes a subscription, or says it anew.
INSERT INTO {schema}.subscriptions (name, said, sum) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET said = $2, sum = $3
